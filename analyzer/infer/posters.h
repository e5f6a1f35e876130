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
	uint32_t link;   /* NO_INDEX = there is none */
	uint32_t before; /* permits of it that the thread had given before */
	bool is_last;    /* it never gave another one */
};

/* By wait; after posters_find(). To be freed. */
struct poster *posters_of(const struct recording *);

#endif
