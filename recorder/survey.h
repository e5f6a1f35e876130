/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb STACKS: what every thread of this process does at the moment, with its call stack.
 *
 * Takes some milliseconds, as running threads answer when the kernel next interrupts them; one at a
 * time. Belongs to the control thread, but for survey_forget().
 */
#ifndef WCPROF_SURVEY_H
#define WCPROF_SURVEY_H

#include "text.h"

/* 0; -EBUSY: one is under way; -ENOMEM; -ESRCH: there is no /proc. */
int survey_begin(uint64_t now_ns) HIDDEN;
bool survey_is_under_way(void) HIDDEN;
/* Whether all have answered that will. */
bool survey_is_due(uint64_t now_ns) HIDDEN;
/* Ends it: "OK {json}", in memory for survey_release(). False: there is none. NULL: for nobody. */
bool survey_end(struct text *answer) HIDDEN;
void survey_release(struct text *answer) HIDDEN;

/* In a forked child. */
void survey_forget(void) HIDDEN;

#endif
