/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose the signal of samples is: nobody's at first, then ours, then the program's for good.
 *
 * The control thread takes it when samples or a survey want it. The program takes it by any call
 * that gives it another disposition than the default. Before that call the timers are gone, no
 * thread has the signal pending, and the default is back. To the program it always was there.
 *
 * The lock is held for microseconds by threads with all signals blocked, so none waits for itself.
 */
#ifndef WCPROF_CLAIM_H
#define WCPROF_CLAIM_H

#include "recorder.h"

struct arena;

/* All signals are blocked in the caller, or no handler calls anything of ours. */
void claim_lock(void) HIDDEN;
void claim_unlock(void) HIDDEN;

/* From the constructor: a runtime that installs its handlers without libc has the signal. */
void claim_start(bool is_go) HIDDEN;
/* The control thread's: installs the handler, unless the program has the signal. */
bool claim_take(void) HIDDEN;
/* The handler is still there; if not, the program has put its own there without libc. */
bool claim_is_kept(void) HIDDEN;
bool claim_is_ours(void) HIDDEN;
/* Since when, and why, there are no samples; NULL: there may be. */
const char *claim_refusal(void) HIDDEN;
/* Says so in the arena. */
void claim_note(struct arena *) HIDDEN;

/* In a forked child, before anything else here. */
void claim_fork_child(void) HIDDEN;

#endif
