/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that find locks made of futexes, and private to them. futexlocks.c finds the
 * locks, futexlocks_families.c those that belong together. futexlocks_unseen.c finds holds that
 * nobody waited for. One thread.
 */
#ifndef WCPROF_FUTEXLOCKS_PARTS_H
#define WCPROF_FUTEXLOCKS_PARTS_H

#include "futexlocks.h"

/* A wait by its end, or a wake. */
struct futex_event {
	uint64_t address;
	uint64_t at_ns;
	uint32_t process;
	uint32_t index; /* of the wait or link */
	bool is_wait;
};

/* The events of an address. Locks are of one family if threads wait for them at the same place. */
struct futex_group {
	size_t first;
	size_t end;
	uint32_t family;
};

/* One of each address, those of one family one after the other. `events`: in order of process and
 * address. To be freed. */
struct futex_group *futex_groups_find(const struct recording *, const struct futex_event *events,
				      size_t event_count, size_t *group_count);

/* The known holds: the ops from `first` on. Those of a family come one after the other, in it those
 * of a lock, and of a lock the last one first. */
struct futex_holds {
	size_t first;
	const uint64_t *came_ns; /* by hold: when its thread began to wait, 0 = it did not */
	size_t *family_ends;     /* op indexes */
	size_t family_count;
	size_t op_capacity; /* there is room for so many */
};

void futex_unseen_find(struct recording *, const struct futex_holds *);

#endif
