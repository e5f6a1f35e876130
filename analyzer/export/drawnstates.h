/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states that the page draws threads in: those of a walk, with blocked ones told apart by what
 * they are blocked in.
 *
 * The page has a colour and a letter for each of their words. One thread.
 */
#ifndef WCPROF_DRAWNSTATES_H
#define WCPROF_DRAWNSTATES_H

#include "walk.h"

enum drawn_state {
	DRAWN_RUNNING,
	DRAWN_QUEUED,
	DRAWN_LOCK,
	DRAWN_IO,
	DRAWN_POLL, /* and all other idle time */
	DRAWN_SLEEP,
	DRAWN_OTHER, /* waits for other threads */
	DRAWN_UNKNOWN,
	DRAWN_STATES
};

extern const char *const drawn_state_words[DRAWN_STATES];

enum drawn_state drawn_state_of(const struct recording *recording, const struct walk_slice *slice);

/* As walk_waker(), but for any blocked slice of a wait, not only for its last one. */
bool drawn_waker(const struct walk *walk, const struct walk_slice *slice, struct walk_waker *waker);

#endif
