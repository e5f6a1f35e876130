/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by turns.c (turns and waits, one by one) and turns_groups.c (what they are together).
 * Private to them.
 */
#ifndef WCPROF_TURNS_PARTS_H
#define WCPROF_TURNS_PARTS_H

#include "recording/addresses.h"
#include "turns.h"

/* Calls of one thread since it last waited; the last of them are kept. */
enum { CALLS_KEPT = 4 };

struct call_row {
	uint32_t calls[CALLS_KEPT]; /* op indexes, the last one at count - 1, modulo CALLS_KEPT;
				       NO_INDEX = one under a lock */
	uint32_t count;
	uint32_t after_wait; /* NO_INDEX = none */
	bool has_told;       /* it let another thread go after its last call */
	uint32_t turn;       /* if so, the one that ends with that */
};

/* A turn, and what tells its group. */
struct found_turn {
	struct turn turn;
	uint32_t lock;      /* NO_INDEX = none: it is told by its last call */
	uint32_t condition; /* NO_INDEX = none, or each thread waits on one of its own */
	uint64_t last_call; /* its name and what it was for; 0 if there is a lock */
	struct call_row row;
	uint32_t visits; /* that it ended */
};

/* A stay in a group: a wait, or several of one section. */
struct visit {
	uint64_t came_ns; /* at the earliest: from then on no call of its thread is known */
	uint64_t from_ns;
	uint32_t asks; /* op index: the hold of its own lock in which it had come before its wait;
			  NO_INDEX = none */
	uint64_t to_ns;
	uint32_t first_wait;
	uint32_t last_wait;
	uint32_t thread;
	uint32_t turn;  /* that ended it */
	uint32_t leads; /* the turn that its thread makes then, NO_INDEX = none */
	bool waits_on;  /* its thread makes no turn then, and the next visit at once */
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
	uint64_t *called_ns;       /* by wait: the end of its thread's last call before it, or 0 */
	uint32_t *goes_on_from;    /* by wait: its thread's wait before it, with no call between
				      the two; or NO_INDEX */
	uint32_t *hold_after_wait; /* by wait: the hold that begins as it ends */
	struct addresses words;    /* futexes and semaphores that threads wait on */
	uint32_t *waiter_of_word;  /* the only thread that waits there, or NO_INDEX */
	uint32_t *owner_of_mutex;  /* by mutex of conditions: the only thread that waits there */
	uint32_t *hold_before;     /* by op: its thread's last hold of the same lock before it */
	uint32_t *waiter_of;       /* by condition: the only thread that waits there, or NO_INDEX */
	bool *wakes;               /* by link: it ended waits that may be visits, or would have */
};

static inline bool turns_are_of_one_group(const struct found_turn *a, const struct found_turn *b)
{
	return a->lock == b->lock && a->condition == b->condition && a->last_call == b->last_call;
}

/* A new turn, of which nothing is known. */
struct found_turn *turns_add(struct turn_search *);

/* turns_calls.c: turns that no lock tells, as followers have locks of their own, or none. */
void turns_row_waits(struct call_row *, uint32_t wait);
/* The wait that ended when the row began, if the thread has done nothing since; or NO_INDEX. */
uint32_t turns_row_waited(const struct call_row *);
/* When it may have come, and whether that was before its wait. */
void turns_visit_came(const struct turn_search *, struct visit *, uint32_t section);
uint64_t turns_row_called_ns(const struct call_row *, const struct recording *);
void turns_row_calls(struct call_row *, uint32_t op, bool is_under_lock);

/* `hold`: that it is given under. False: no call is known that the turn ends with. */
bool turns_row_tells(struct turn_search *, struct call_row *, uint32_t link, uint32_t hold);

/* Visits, in order, that a thread makes one after the other as the first one ended too early. */
void turns_visits_join(struct turn_search *);

/* Where turns without a lock begin, from how many calls the shortest of them have. */
void turns_without_lock_begin(struct turn_search *);

/* The last visit that the turn's thread had ended in the group before it let others go, or NULL. */
struct visit *turns_visit_before(const struct turn_search *, const struct found_turn *);

/* turns_groups.c: fills in the answer from all turns and visits. */
void turns_group(struct turns *, struct turn_search *);

#endif
