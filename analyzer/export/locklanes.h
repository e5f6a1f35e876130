/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that a run waited for most: who had each of them when, and how many waited.
 *
 * Built once, read-only afterwards. One thread.
 */
#ifndef WCPROF_LOCKLANES_H
#define WCPROF_LOCKLANES_H

#include "cells.h"
#include "contended.h"
#include "pools.h"

enum { LOCK_LANES_MAX = 12 };

struct lock_lanes {
	struct contended contended;       /* at most LOCK_LANES_MAX */
	uint32_t waiters[LOCK_LANES_MAX]; /* at once, at most */
};

void lock_lanes_build(struct lock_lanes *locks, const struct recording *recording,
		      const struct labels *labels);
void lock_lanes_free(struct lock_lanes *locks);

/*
 * A row of cells for each lock. The detail of a slice is its holder's lane plus one, 0 = it was
 * free; the peak is the number of waiters.
 */
void lock_lanes_add(struct lock_lanes *locks, const struct recording *recording,
		    const struct thread_pools *pools, struct cells *cells);

#endif
