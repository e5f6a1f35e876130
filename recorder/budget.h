/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget of recording: a share of the process's CPU time (WCPROF_BUDGET).
 *
 * While recording is wanted and there is a budget, the control thread turns recording on and off by
 * whole slots of time (pace.h). Their cost so far says how many. Within them nothing is left out. A
 * process without a control thread has no budget.
 *
 * All functions are the control thread's, but for what is said.
 */
#ifndef WCPROF_BUDGET_H
#define WCPROF_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"
#include "text.h"

/* Turns recording on, or off, with what the threads are inside of at that moment. 0 or -ENOMEM. */
int budget_turn_on(void) HIDDEN;
void budget_turn_off(void) HIDDEN;

/* The option has been set. Before the first control thread, too. */
void budget_set(uint64_t budget) HIDDEN;
/* Recording is wanted from now on. False: there is no budget, and it is to be turned on. */
bool budget_begin(void) HIDDEN;
/* It is wanted no more; it stays on if it is. */
void budget_end(void) HIDDEN;
/* Whether it decides when recording is on; any thread. */
bool budget_is_running(void) HIDDEN;
/* At load, if recording is wanted from then on: turns it on, unless its budget leaves this slot
 * out. Without a control thread to come there is no budget, as a line on standard error says. 0 or
 * -ENOMEM. */
int budget_start(bool has_control) HIDDEN;

/* Turns recording on or off when that is due; a trial has it to itself. In how many ms something is
 * due again; -1 = nothing. */
int budget_tick(uint64_t now_ns, bool is_trial) HIDDEN;
/* The thread is about to end, or could not be made: nobody would turn recording off. */
void budget_leave(void) HIDDEN;
/* In a forked child: it has the parent's budget, and has recorded nothing. */
void budget_fork_child(void) HIDDEN;

/* ,"budget_... members of STATUS; nothing without a budget. */
void budget_put_status(struct text *) HIDDEN;

#endif
