/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where threads are that run just now: each is asked once for its call stack.
 *
 * By a timer of the thread's own CPU time, whose signal sample.c answers, as samples are taken. So
 * a thread that is blocked by the time hears nothing of it, and no call of the program's is
 * interrupted. The control thread asks and takes; the asked threads answer, each when the kernel
 * next interrupts it (milliseconds), or not at all.
 */
#ifndef WCPROF_GLIMPSE_H
#define WCPROF_GLIMPSE_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "recorder.h"

enum { GLIMPSE_FRAMES_MAX = 64 };

/* Asks a thread of this process; a number, or -1: it cannot be asked. glimpse_end() must follow. */
int glimpse_ask(uint32_t tid) HIDDEN;
bool glimpse_is_there(int glimpse) HIDDEN;
/* How many frames the answer has, innermost first; 0 = none came. Asks no longer. */
uint32_t glimpse_end(int glimpse, uint64_t pcs[GLIMPSE_FRAMES_MAX]) HIDDEN;

/* From the signal's handler, with what its timer was made with; 0 is none of ours. */
void glimpse_answer(int asked, const ucontext_t *) HIDDEN;
/* In a forked child: the timers are the parent's. */
void glimpse_forget(void) HIDDEN;

#endif
