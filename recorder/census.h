/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that were inside a call when recording was turned on.
 *
 * A hook that passes a call on while recording is off learns nothing of it. So the control thread
 * asks the kernel, when it is about to turn recording on: which thread is blocked in which system
 * call? The mutexes themselves say who has them. Nothing is sent to a thread.
 *
 * A thread writes down itself what it was inside of, when it first records something, or when it
 * ends. For one that does neither the control thread writes it when recording is turned off, and
 * that the thread was there at all (unseen.h). The call and its holds of locks begin with the
 * moment at which recording was turned on. The end of the call is not seen. But a blocked thread
 * uses no CPU time. So it ended before the CPU time that the thread has used since then.
 */
#ifndef WCPROF_CENSUS_H
#define WCPROF_CENSUS_H

#include "recorder.h"

/* Control thread: right before recording is turned on, and right after that. */
void census_look(void) HIDDEN;
void census_begin(void) HIDDEN;
/* The same thread, before a dump while recording is on: whoever has run since is not inside. */
void census_look_again(void) HIDDEN;
/* The same thread, after recording was turned off: what has not ended yet is cut off. */
void census_end(void) HIDDEN;
/* In a forked child: nobody is known to be inside of anything. */
void census_fork_child(void) HIDDEN;

#endif
