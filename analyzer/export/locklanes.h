/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that a run waited for most: who had each of them when, and how many waited.
 *
 * Built once, read-only afterwards. One thread.
 */
#ifndef WCPROF_LOCKLANES_H
#define WCPROF_LOCKLANES_H

#include "cells.h"
#include "drawnstates.h"
#include "pools.h"
#include "recording/addresses.h"

enum { LOCK_LANES_MAX = 12 };

struct lock_lane {
	uint32_t name;    /* string id */
	uint32_t address; /* its index in `addresses` */
	uint64_t wait_ns;
	uint32_t waiters; /* at once, at most */
};

struct lock_lanes {
	struct lock_lane locks[LOCK_LANES_MAX]; /* the one most waited for first */
	uint32_t count;
	struct addresses addresses; /* of all locks that were waited for */
	uint32_t *lock_of; /* by address: which of `locks`; LOCK_LANES_MAX = none of them */
};

void lock_lanes_build(struct lock_lanes *locks, const struct recording *recording,
		      const struct labels *labels);
void lock_lanes_free(struct lock_lanes *locks);

/* The lock that a hold is of; LOCK_LANES_MAX for any other. */
uint32_t lock_lanes_of_hold(const struct lock_lanes *locks, const struct recording *recording,
			    uint32_t op);

/*
 * A row of cells for each lock. The detail of a slice is its holder's lane plus one, 0 = it was
 * free; the peak is the number of waiters.
 */
void lock_lanes_add(struct lock_lanes *locks, const struct recording *recording,
		    const struct thread_pools *pools, struct cells *cells);

#endif
