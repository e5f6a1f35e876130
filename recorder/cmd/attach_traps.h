/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breakpoints in the code of another process: the bytes themselves. attach_threads.h has the rest.
 */
#ifndef WCPROF_ATTACH_TRAPS_H
#define WCPROF_ATTACH_TRAPS_H

#include "attach_threads.h"

/* A table, empty, which processes that are forked from now on share. NULL: no memory. */
struct attach_trap_table *attach_traps_new(void);
/* Writes those breakpoints into a memory, and elsewhere the bytes that were there. */
void attach_traps_write(const struct attach_trap_table *, int memory, enum attach_traps which);
/* Takes them out of a memory where they are: it may be that of another program by now. */
void attach_traps_remove(const struct attach_trap_table *, int memory);
/* NULL: there is none at the address. */
const struct attach_trap *attach_traps_at(const struct attach_trap_table *, uint64_t address);
/* Whether the thread is held at one that is for fork(). */
bool attach_traps_are_fork(const struct attach_threads *threads, pid_t tid);

#endif
