/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of addresses in the watched process. A process of its own finds them: reading debug
 * information takes up to seconds, and keys are to be obeyed meanwhile. It has the lowest priority.
 *
 * Whoever wants a name asks for it at each look, and gets it once it has come. One thread.
 */
#ifndef WCPROF_TOP_RESOLVE_H
#define WCPROF_TOP_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TOP_NAME_BYTES = 160 };

struct top_resolver;

/* NULL: there is no memory, or no process to be had. */
struct top_resolver *top_resolver_begin(pid_t pid);
void top_resolver_end(struct top_resolver *);

/* "parse_query", as the program's text has it; "[libx.so]" where it has no name. NULL: not
 * known yet. The text is good until the next call, and fit for a terminal. */
const char *top_resolver_function(struct top_resolver *, uint64_t address);
/* "table_lock"; "": it is no variable's address. */
const char *top_resolver_variable(struct top_resolver *, uint64_t address);

/* Readable when names have come; -1 = never. */
int top_resolver_fd(const struct top_resolver *);
/* Takes those that have come. */
void top_resolver_take(struct top_resolver *);
/* Waits until all that were asked for have come, or so long. True: some have come. */
bool top_resolver_wait(struct top_resolver *, int timeout_ms);
/* CPU time that its process has used. */
uint64_t top_resolver_cpu_ns(const struct top_resolver *);

#endif
