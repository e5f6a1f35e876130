/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers of threads' CPU time, whose signal sample.c answers: one for samples, one for a question.
 *
 * A thread that cannot take the signal has none that runs. It blocks the signal, or its alternate
 * stack has no room for a handler of the program's and the signal on top of it (claim.c). Each
 * thread says so itself, before it is so. The control thread makes the timers. All functions take
 * the lock of claim.h, but where it is said.
 */
#ifndef WCPROF_TIMERS_H
#define WCPROF_TIMERS_H

#include "recorder.h"

/* --- The control thread's --- */

/* Samples of each second of CPU time; timers that run go on with it. */
void timers_set_rate(uint32_t hz) HIDDEN;
/* A round finds the threads that there are: a timer for those that are new, none for others. */
void timers_begin_round(void) HIDDEN;
void timers_see(uint32_t tid, uint32_t *expected) HIDDEN; /* it is mostly the one at *expected */
void timers_end_round(void) HIDDEN;
void timers_drop_samples(void) HIDDEN;
/* Threads that are sampled. */
uint32_t timers_count(void) HIDDEN;
/* Again and again, until it is answered, with this value; false: it cannot be asked. */
bool timers_ask(uint32_t tid, int value) HIDDEN;
void timers_end_asking(uint32_t tid) HIDDEN;

/* --- Any thread's, of itself, with all signals blocked --- */

/* It begins, with the signal blocked or not: it need not be found first. */
void timers_begin_own(bool blocks) HIDDEN;
/* It is about to block the signal, perhaps; from the call on it gets none. */
void timers_pause_own(void) HIDDEN;
/* Whether it has said so; no lock, nor blocked signals. */
bool timers_own_is_paused(void) HIDDEN;
void timers_resume_own(void) HIDDEN;
/* Whether its alternate stack has that room, or it has none.
 * In doubt false, before that changes. */
void timers_own_stack(bool is_large) HIDDEN;

/* --- For claim.c --- */

/* The lock is the caller's. Whether samples are wanted; drops all timers. */
bool timers_are_wanted(void) HIDDEN;
void timers_drop_all(void) HIDDEN;
/* In a forked child: the timers are the parent's. */
void timers_fork_child(void) HIDDEN;

#endif
