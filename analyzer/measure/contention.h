/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When locks were waited for, how long waits and holds were, and which holds made which waits.
 *
 * Of the first locks of a lock table: those most waited for. Built once, read-only afterwards.
 */
#ifndef WCPROF_CONTENTION_H
#define WCPROF_CONTENTION_H

#include "locks.h"

enum {
	CONTENTION_LOCKS = 32, /* at most */
	CONTENTION_SLOTS = 240,
	CONTENTION_BINS = 252 /* four for each doubling */
};

/* A lock in a slot of time. */
struct contention_cell {
	uint64_t wait_ns; /* of all waiters: divided by the slot's length, how many on average */
	uint32_t most;    /* waiters at once */
};

/* Waits at one site that ended with a hold of another. */
struct contention_pair {
	uint32_t lock;        /* row of the lock table */
	uint32_t holder_site; /* string ids, 0 = not known */
	uint32_t waiter_site;
	uint32_t count;
	uint64_t wait_ns;
};

struct contention {
	uint32_t lock_count;
	uint64_t from_ns; /* of the slots, which are of one length but for a nanosecond */
	uint64_t to_ns;
	struct contention_cell *cells; /* lock by lock */
	uint32_t *wait_bins;           /* lock by lock: how many were so long */
	uint32_t *hold_bins;
	struct contention_pair *pairs; /* lock by lock, the longest first */
	size_t pair_count;
};

/* Names and sites as those of lock_table_build(). */
void contention_build(struct contention *contention, const struct lock_table *locks,
		      const struct recording *recording, const uint32_t *op_name,
		      const uint32_t *wait_name, const uint32_t *stack_site, uint64_t from_ns,
		      uint64_t to_ns);
void contention_free(struct contention *contention);

/* When a slot begins; that of CONTENTION_SLOTS is when the last one ends. */
uint64_t contention_slot_ns(const struct contention *contention, uint32_t slot);

/* The bin of a length, and the shortest one of a bin. */
uint32_t contention_bin(uint64_t ns);
uint64_t contention_bin_ns(uint32_t bin);

#endif
