/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose permit a wait for a semaphore got.
 *
 * One thread.
 */
#ifndef WCPROF_POSTERS_H
#define WCPROF_POSTERS_H

#include "recording/recording.h"

/* Called once, before anything is selected or analyzed. */
void posters_find(struct recording *);

/* The last post of a wait's semaphore by the thread that it waited for, from its begin to its
 * end. */
struct poster {
	uint32_t link; /* NO_INDEX = there is none */
	bool is_only;  /* that thread never gave another permit of it */
};

/* By wait; after posters_find(). To be freed. */
struct poster *posters_of(const struct recording *);

#endif
