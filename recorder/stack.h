/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks of the program's threads, for the rest of the recorder. The hooks' side,
 * stack_capture(), is in recorder.h.
 */
#ifndef WCPROF_STACK_H
#define WCPROF_STACK_H

#include <stdint.h>
#include <ucontext.h>

#include "recorder.h"

/* How many frames a captured stack has at most, innermost first; no more than STACK_FRAMES_MAX.
 * 0 turns stacks off. Any time. */
void stack_set_depth(uint32_t frames) HIDDEN;

/* The same for code that is at an instruction, which ends at `pc`. Its stack pointer is `sp`. Its
 * rbp is at `frame`, somewhere below. */
uint32_t stack_capture_within(struct self *, const void *pc, const void *frame, uint64_t sp) HIDDEN;

/* The call stack of the code that a signal interrupted; the first frame's address is 1 too
 * large, as return addresses are. */
uint32_t stack_capture_interrupted(struct self *, const ucontext_t *) HIDDEN;

/* The id of the stack of nothing but this return address; 0 when stacks are off. */
uint32_t stack_of(const void *pc) HIDDEN;

/* Before recording begins for the first time: what the first capture would otherwise wait for.
 * False: there is no memory for it, and no stack is captured. */
bool stack_warm_up(void) HIDDEN;

/* The ids that stack_intern() gave are void: the arena was emptied, or is another one. */
void stack_forget_ids(void) HIDDEN;

/* Around fork(): prepare in the parent before it, then one of the others. */
void stack_fork_prepare(void) HIDDEN;
void stack_fork_parent(void) HIDDEN;
void stack_fork_child(void) HIDDEN; /* also in a child whose fork was not seen */

#endif
