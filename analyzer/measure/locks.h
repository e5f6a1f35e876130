/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks, class by class: how often they were taken and waited for, how long, and from where.
 *
 * Built once, read-only afterwards. Only recorded holds count as acquisitions: a recorder may leave
 * out those of locks that nobody ever waited for.
 */
#ifndef WCPROF_LOCKS_H
#define WCPROF_LOCKS_H

#include "base/percentile.h"
#include "recording/recording.h"

struct lock_site {
	uint32_t site; /* string id: "function file.c:12"; 0 = not known */
	uint32_t count;
	uint64_t total_ns;  /* held or waited from here */
	uint64_t caused_ns; /* holders: how long others waited for these holds */
};

/* One lock of a class. */
struct lock_instance {
	uint64_t address;
	uint32_t acquisitions;
	uint32_t contended;
	uint64_t wait_ns;
	uint64_t hold_ns;
};

struct lock_class {
	uint32_t name;          /* string id */
	uint32_t address_count; /* distinct locks: so many instances */
	uint32_t acquisitions;
	uint32_t contended;    /* waits */
	uint32_t timed_out;    /* of those, in vain */
	uint32_t owner_died;   /* of those, ended by the death of the holder */
	uint32_t holder_known; /* of those, with a holder or who let it go */
	uint32_t relocks;      /* at ends of waits on conditions, while others had it */
	uint64_t relock_ns;    /* how long, in all; no part of `wait` */
	struct percentiles wait;
	struct percentiles hold;
	const struct lock_site *holders; /* longest waits caused first, then longest holds */
	const struct lock_site *waiters; /* longest waits first */
	const struct lock_instance
		*instances; /* the one most waited for first, then longest held */
	uint32_t holder_count;
	uint32_t waiter_count;
};

struct lock_table {
	struct lock_class *rows; /* longest waits first, then longest holds */
	uint32_t count;
	struct lock_site *sites;
	struct lock_instance *instances;
};

/*
 * `op_name` and `wait_name` have a string id per op and wait, `stack_site` one per stack. Each may
 * be NULL: then names are as recorded and sites not known.
 */
void lock_table_build(struct lock_table *table, const struct recording *recording,
		      const uint32_t *op_name, const uint32_t *wait_name,
		      const uint32_t *stack_site);

/* The reason of a wait: it was for a lock. */
bool lock_is_contention(uint16_t reason);

void lock_table_free(struct lock_table *table);

#endif
