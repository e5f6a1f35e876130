/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks over time; locklanes.h has the contract.
 *
 * Begins and ends of a lock's holds and waits, in order of time, are where its state changes.
 */
#include "locklanes.h"

#include <stdlib.h>

#include "base/memory.h"

enum change_type { WAIT_END, HOLD_END, WAIT_BEGIN, HOLD_BEGIN };

struct change {
	uint64_t at_ns;
	uint32_t lane; /* of a hold */
	enum change_type type;
};

struct changes {
	struct change *changes;
	size_t count, room;
};

void lock_lanes_build(struct lock_lanes *locks, const struct recording *recording,
		      const struct labels *labels)
{
	*locks = (struct lock_lanes){ 0 };
	contended_build(&locks->contended, recording, labels, LOCK_LANES_MAX);
}

void lock_lanes_free(struct lock_lanes *locks)
{
	contended_free(&locks->contended);
}

static void add_change(struct changes *changes, uint64_t at_ns, enum change_type type,
		       uint32_t lane)
{
	changes->changes = memory_grow(changes->changes, &changes->room, changes->count + 1,
				       sizeof(*changes->changes));
	changes->changes[changes->count++] = (struct change){ at_ns, lane, type };
}

static void find_changes(const struct contended *contended, const struct recording *recording,
			 const struct thread_pools *pools, struct changes *changes)
{
	for (size_t lock = 0; lock < contended->count; lock++)
		for (size_t i = 0; i < contended->locks[lock].hold_count; i++) {
			const struct rec_op *op = &recording->ops[contended->locks[lock].holds[i]];
			uint32_t lane = pools_lane(pools, op->thread);
			if (op->end_ns == op->start_ns)
				continue;
			add_change(&changes[lock], op->start_ns, HOLD_BEGIN, lane);
			add_change(&changes[lock], op->end_ns, HOLD_END, lane);
		}
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		uint32_t lock = contended_of_wait(contended, recording, i);
		if (lock == NO_INDEX || wait->end_ns == wait->start_ns)
			continue;
		add_change(&changes[lock], wait->start_ns, WAIT_BEGIN, NO_INDEX);
		add_change(&changes[lock], wait->end_ns, WAIT_END, NO_INDEX);
	}
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *left = a, *right = b;
	if (left->at_ns != right->at_ns)
		return left->at_ns < right->at_ns ? -1 : 1;
	if (left->type != right->type)
		return left->type < right->type ? -1 : 1;
	return (left->lane > right->lane) - (left->lane < right->lane);
}

/* One lock's slices, and the most that waited at once. Of several holders at once, which are
 * readers, the latest one counts. */
static uint32_t add_row(const struct changes *changes, struct cells *cells)
{
	uint32_t holder = 0, holders = 0, waiters = 0, most = 0;
	cells_row(cells);
	for (size_t i = 0; i < changes->count; i++) {
		const struct change *change = &changes->changes[i];
		if (change->type == WAIT_BEGIN)
			waiters++;
		else if (change->type == WAIT_END)
			waiters--;
		else if (change->type == HOLD_BEGIN)
			holders++;
		else
			holders--;
		if (change->type == HOLD_BEGIN)
			holder = change->lane + 1;
		most = waiters > most ? waiters : most;
		if (i + 1 == changes->count || change[1].at_ns == change->at_ns ||
		    (holders == 0 && waiters == 0))
			continue;
		cells_add(cells, &(struct slice){ .start_ns = change->at_ns,
						  .end_ns = change[1].at_ns,
						  .sort = holders > 0 ? 1 : 2,
						  .detail = holders > 0 ? holder : 0,
						  .peak = waiters });
	}
	return most;
}

void lock_lanes_add(struct lock_lanes *locks, const struct recording *recording,
		    const struct thread_pools *pools, struct cells *cells)
{
	struct changes changes[LOCK_LANES_MAX] = { 0 };
	find_changes(&locks->contended, recording, pools, changes);
	for (size_t i = 0; i < locks->contended.count; i++) {
		if (changes[i].count > 0)
			qsort(changes[i].changes, changes[i].count, sizeof(struct change),
			      compare_changes);
		locks->waiters[i] = add_row(&changes[i], cells);
		free(changes[i].changes);
	}
}
