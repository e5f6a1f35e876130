/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that was loaded into a running process: whether calls lead to it.
 *
 * All functions are the control thread's.
 */
#ifndef WCPROF_ATTACHED_H
#define WCPROF_ATTACHED_H

#include "recorder.h"
#include "text.h"

/* Whether it was. Else the loader has bound all calls to it, for good. */
bool attached_may_be(void) HIDDEN;
/* Has calls lead to it, or to libc as before. False: nothing was changed. */
bool attached_point(bool here, struct recorder_slots *slots) HIDDEN;
/* While recording is on: objects that were loaded since then. */
void attached_tick(void) HIDDEN;
/* Until the next such look, or shorter. */
int attached_wait_ms(int wait_ms) HIDDEN;
/* The thread has nothing to do any more: it ends when its clients have their answers. */
void attached_send_thread(void) HIDDEN;
bool attached_thread_ends(void) HIDDEN;
void attached_thread_begins(void) HIDDEN;
void attached_put_status(struct text *) HIDDEN;

#endif
