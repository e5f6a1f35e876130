/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks over time; locklanes.h has the contract.
 *
 * Begins and ends of a lock's holds and waits, in order of time, are where its state changes.
 */
#include "locklanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"

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

static bool has_place(const struct rec_wait *wait)
{
	return is_lock_wait(wait) && wait->thread != NO_INDEX && wait->address != 0;
}

static int compare_locks(const void *a, const void *b)
{
	const struct lock_lane *left = a, *right = b;
	if (left->wait_ns != right->wait_ns)
		return left->wait_ns > right->wait_ns ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

void lock_lanes_build(struct lock_lanes *locks, const struct recording *recording,
		      const struct labels *labels)
{
	struct lock_lane *all = NULL;
	size_t room = 0, count = 0;
	*locks = (struct lock_lanes){ 0 };
	for (size_t i = 0; recording->threads && i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (!has_place(wait))
			continue;
		uint32_t index = addresses_add(
			&locks->addresses, recording->threads[wait->thread].process, wait->address);
		all = memory_grow(all, &room, locks->addresses.count, sizeof(*all));
		if (index == count)
			all[count++] = (struct lock_lane){ .address = index };
		all[index].name = labels && labels->waits ? labels->waits[i] : wait->ident;
		all[index].wait_ns += wait->end_ns - wait->start_ns;
	}
	locks->lock_of = memory_new(count, sizeof(*locks->lock_of));
	for (size_t i = 0; i < count; i++)
		locks->lock_of[i] = LOCK_LANES_MAX;
	if (count > 0)
		qsort(all, count, sizeof(*all), compare_locks);
	for (; locks->count < count && locks->count < LOCK_LANES_MAX; locks->count++) {
		locks->locks[locks->count] = all[locks->count];
		locks->lock_of[all[locks->count].address] = locks->count;
	}
	free(all);
}

void lock_lanes_free(struct lock_lanes *locks)
{
	addresses_free(&locks->addresses);
	free(locks->lock_of);
}

static uint32_t lock_at(const struct lock_lanes *locks, const struct recording *recording,
			uint32_t thread, uint64_t address)
{
	uint32_t index =
		addresses_find(&locks->addresses, recording->threads[thread].process, address);
	return index == NO_INDEX ? LOCK_LANES_MAX : locks->lock_of[index];
}

uint32_t lock_lanes_of_hold(const struct lock_lanes *locks, const struct recording *recording,
			    uint32_t op)
{
	if (!recording->extras || recording->extras[op].address == 0 ||
	    recording->ops[op].thread == NO_INDEX)
		return LOCK_LANES_MAX;
	return lock_at(locks, recording, recording->ops[op].thread, recording->extras[op].address);
}

static void add_change(struct changes *changes, uint64_t at_ns, enum change_type type,
		       uint32_t lane)
{
	changes->changes = memory_grow(changes->changes, &changes->room, changes->count + 1,
				       sizeof(*changes->changes));
	changes->changes[changes->count++] = (struct change){ at_ns, lane, type };
}

static void find_changes(const struct lock_lanes *locks, const struct recording *recording,
			 const struct thread_pools *pools, struct changes *changes)
{
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->kind != KIND_HOLD)
			continue;
		uint32_t lock = lock_lanes_of_hold(locks, recording, i);
		if (lock == LOCK_LANES_MAX || op->end_ns == op->start_ns)
			continue;
		add_change(&changes[lock], op->start_ns, HOLD_BEGIN, pools_lane(pools, op->thread));
		add_change(&changes[lock], op->end_ns, HOLD_END, pools_lane(pools, op->thread));
	}
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (!has_place(wait) || wait->end_ns == wait->start_ns)
			continue;
		uint32_t lock = lock_at(locks, recording, wait->thread, wait->address);
		if (lock == LOCK_LANES_MAX)
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

/* One lock's slices. Of several holders at once, which are readers, the latest one counts. */
static void add_row(struct lock_lane *lock, const struct changes *changes, struct cells *cells)
{
	uint32_t holder = 0, holders = 0, waiters = 0;
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
		if (waiters > lock->waiters)
			lock->waiters = waiters;
		if (i + 1 == changes->count || change[1].at_ns == change->at_ns ||
		    (holders == 0 && waiters == 0))
			continue;
		cells_add(cells, &(struct slice){ .start_ns = change->at_ns,
						  .end_ns = change[1].at_ns,
						  .sort = holders > 0 ? 1 : 2,
						  .detail = holders > 0 ? holder : 0,
						  .peak = waiters });
	}
}

void lock_lanes_add(struct lock_lanes *locks, const struct recording *recording,
		    const struct thread_pools *pools, struct cells *cells)
{
	struct changes changes[LOCK_LANES_MAX] = { 0 };
	find_changes(locks, recording, pools, changes);
	for (uint32_t i = 0; i < locks->count; i++) {
		if (changes[i].count > 0)
			qsort(changes[i].changes, changes[i].count, sizeof(struct change),
			      compare_changes);
		add_row(&locks->locks[i], &changes[i], cells);
		free(changes[i].changes);
	}
}
