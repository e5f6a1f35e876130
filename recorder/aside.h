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

/* A control thread is about to be created, or could not be. False: a call is under way for which
 * it must not be there. */
bool aside_announce(void) HIDDEN;
void aside_forget(void) HIDDEN;
/* In a forked child: neither thread nor calls are here. */
void aside_fork_child(void) HIDDEN;
/* It has left the program's descriptors. */
void aside_begin(void) HIDDEN;
/* Whether there is none, or it has come to its last act. */
bool aside_has_ended(void) HIDDEN;
/* Whether it has to end. */
bool aside_is_wanted(void) HIDDEN;
/* Its last act: it touches nothing of the recorder's any more. */
void aside_end(void) HIDDEN;

/* Whether the control thread may do the same things as the calling thread; true: there is none. */
bool aside_has_same_rights(void) HIDDEN;
/*
 * Around a call that the control thread must not see. It is away from the first one's beginning,
 * and is not created before the last one's end. Any thread may create it then: none has rights that
 * all have given up. True: it was there, if only about to end.
 *
 * `is_brief`: it may be back at the next hook; else once no call has come for a second.
 */
bool aside_call_begins(bool is_brief) HIDDEN;
/* True: it was the last one, and the thread is away. */
bool aside_call_ends(void) HIDDEN;
/* From here on no thread of ours closes what the program has open. One that is there has left the
 * program's descriptors, and none is created any more. */
void aside_stays(void) HIDDEN;
/* Whether the thread is away and not to be fetched yet: a call is under way, or they come often. */
bool aside_rests(void) HIDDEN;

/*
 * Ends the control thread, and returns when the kernel has it on no list any more. False: there is
 * none, or it does not end in time.
 */
bool aside_send(void) HIDDEN;

#endif
