/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of ours, for what the program's own stack may have no room for.
 *
 * A coroutine, a handler's alternate stack or a small thread has room for libc's call and hardly
 * more. So whatever needs more than some hundred bytes runs here, or keeps its data here.
 */
#ifndef WCPROF_SPARE_H
#define WCPROF_SPARE_H

#include "recorder.h"

/* Several times what learning how to unwind takes of a stack. */
enum { SPARE_BYTES = 32768 };

/* Maps the spares. Before the first use, as often as one likes; false: there are none. */
bool spare_start(void) HIDDEN;

/*
 * Calls the function on a spare stack, with all signals blocked: no handler of the program runs on
 * it, or jumps off it. False: no spare is free, and nothing was called. Any thread, also inside a
 * signal handler that interrupted a borrower.
 */
bool spare_call(void (*function)(void *), void *argument) HIDDEN;
/* The same where all signals are blocked already. */
bool spare_call_blocked(void (*function)(void *), void *argument) HIDDEN;

/* The same, surely: waits a while for a spare to become free. Where there are none, as before
 * recording begins, the function is called on the caller's stack. */
void spare_call_surely(void (*function)(void *), void *argument) HIDDEN;

/* The same for what calls code that is not ours, and may want any room: on a stack that is mapped
 * for it alone. Where there is no memory, on the caller's stack. */
void spare_call_foreign(void (*function)(void *), void *argument) HIDDEN;

/*
 * A spare as room for data, for a thread inside the recorder: one at a time, SPARE_BYTES long.
 * NULL: none is free. Handlers of the program may interrupt the borrower, and jump away: what it
 * had borrowed it finds at its next borrowing.
 */
void *spare_borrow(void) HIDDEN;
void spare_return(void *) HIDDEN;
/* Calls the function on the upper end of what the thread has borrowed, with all signals blocked. */
void spare_call_on(void *borrowed, void (*function)(void *), void *argument) HIDDEN;
/* The same on the stack that the thread is on, for one that is ours, or has room. */
void spare_call_here(void (*function)(void *), void *argument) HIDDEN;

/* This thread ends; this process is a forked child. */
void spare_thread_ends(void) HIDDEN;
void spare_fork_child(void) HIDDEN;

#endif
