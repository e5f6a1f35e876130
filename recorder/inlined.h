/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that a module makes by itself, past libc: a wait in one of them is not seen.
 *
 * The control thread looks through the code of modules, a piece at a time, once recording has gone
 * on for a while. No other thread calls anything here.
 */
#ifndef WCPROF_INLINED_H
#define WCPROF_INLINED_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

enum { INLINED_TICK_MS = 10 };

/* Values of module_calls: not looked at, not to be read, or how many calls and this. */
enum { INLINED_UNSEEN = 0, INLINED_UNKNOWN = 1, INLINED_NONE = 2 };

struct inlined_tally {
	uint32_t pairs; /* bytes that look like the instruction */
	uint32_t calls; /* those that are used like it */
};

/* Adds those that begin in [first, last) of a piece of code; what lies around is looked at. */
void inlined_count(struct inlined_tally *, const uint8_t *code, size_t bytes, size_t first,
		   size_t last) HIDDEN;
/* How many calls there are at least, seen all the code. */
uint32_t inlined_result(const struct inlined_tally *) HIDDEN;

/* libc, the loader, ourselves: their calls are the hooks' affair. */
bool inlined_is_exempt(const char *path) HIDDEN;

/* Looks at the next piece when it is due; whether more is to be done. */
bool inlined_tick(struct arena *, uint64_t now_ns) HIDDEN;
/* In a forked child. */
void inlined_forget(void) HIDDEN;

#endif
