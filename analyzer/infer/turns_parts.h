/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by turns.c (turns and waits, one by one) and turns_groups.c (what they are together).
 * Private to them.
 */
#ifndef WCPROF_TURNS_PARTS_H
#define WCPROF_TURNS_PARTS_H

#include "turns.h"

/* A turn, and what tells its group. */
struct found_turn {
	struct turn turn;
	uint32_t lock;
	uint32_t condition; /* NO_INDEX = none, or each thread waits on one of its own */
};

/* A stay in a group: a wait, or several of one section. */
struct visit {
	uint64_t from_ns;
	uint64_t to_ns;
	uint32_t first_wait;
	uint32_t last_wait;
	uint32_t thread;
	uint32_t turn;  /* that ended it */
	uint32_t leads; /* the turn that its thread makes then, NO_INDEX = none */
};

struct turn_search {
	const struct recording *rec;
	const struct timeline *timeline;
	const struct releases *releases;
	const struct monitors *monitors;
	struct found_turn *turns;
	size_t turn_count;
	size_t turn_capacity;
	struct visit *visits;
	size_t visit_count;
	size_t visit_capacity;
	uint32_t *turn_of_link;
	uint32_t *hold_after_wait; /* by wait: the hold that begins as it ends */
	uint32_t *hold_before;     /* by op: its thread's last hold of the same lock before it */
	uint32_t *waiter_of;       /* by condition: the only thread that waits there, or NO_INDEX */
	bool *wakes;               /* by link: it ended waits that may be visits, or would have */
};

static inline bool turns_are_of_one_group(const struct found_turn *a, const struct found_turn *b)
{
	return a->lock == b->lock && a->condition == b->condition;
}

/* Of so many, all NO_INDEX. */
uint32_t *turns_indexes_new(size_t count);

/* turns_groups.c: fills in the answer from all turns and visits. */
void turns_group(struct turns *, struct turn_search *);

#endif
