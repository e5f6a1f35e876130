/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control thread out of the way of calls that need a process with the program's threads alone.
 *
 * aside_begin(), _is_wanted() and _end() are the control thread's; the others, any thread's of the
 * program's.
 */
#ifndef WCPROF_ASIDE_H
#define WCPROF_ASIDE_H

#include "recorder.h"

/* A control thread is about to be created, or could not be. */
void aside_announce(void) HIDDEN;
void aside_forget(void) HIDDEN;
/* Its first act. */
void aside_begin(void) HIDDEN;
/* Whether it has to end. */
bool aside_is_wanted(void) HIDDEN;
/* Its last act: it touches nothing of the recorder's any more. */
void aside_end(void) HIDDEN;

/* Whether the control thread may do the same things as the calling thread; true: there is none. */
bool aside_has_same_rights(void) HIDDEN;
/*
 * Ends the control thread, and returns when the kernel has it on no list any more. False: there is
 * none, or it does not end in time.
 */
bool aside_send(void) HIDDEN;

#endif
