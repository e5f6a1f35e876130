/* SPDX-License-Identifier: Apache-2.0 */
/* Lays the holds of locks out in time; heldlocks.h has the contract. */
#include "heldlocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/buckets.h"
#include "base/memory.h"
#include "format.h"
#include "measure/locks.h"
#include "recording/releases.h"

struct holding {
	struct held_locks *locks;
	struct path_parts *parts;
	const struct request_paths_of *of;
	struct releases releases;
	uint32_t *lane_of_lock; /* by lock: NO_INDEX = nobody waited for it */
	uint32_t *names;        /* by lane: string ids */
	size_t lane_count, name_room;
};

static uint32_t lock_of_wait(const struct holding *holding, const struct rec_wait *wait)
{
	if (!lock_is_contention(wait->reason) || wait->thread == NO_INDEX || !wait->address)
		return NO_INDEX;
	return addresses_find(&holding->releases.locks,
			      holding->of->recording->threads[wait->thread].process, wait->address);
}

static void find_lanes(struct holding *holding)
{
	const struct recording *recording = holding->of->recording;
	size_t locks = holding->releases.locks.count;
	holding->lane_of_lock = memory_new(locks, sizeof(*holding->lane_of_lock));
	memset(holding->lane_of_lock, 0xff, locks * sizeof(*holding->lane_of_lock));
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		uint32_t lock = lock_of_wait(holding, &recording->waits[i]);
		holding->locks->lane_of[i] = NO_INDEX;
		if (lock == NO_INDEX)
			continue;
		uint32_t *lane = &holding->lane_of_lock[lock];
		if (*lane == NO_INDEX) {
			holding->names =
				memory_grow(holding->names, &holding->name_room,
					    holding->lane_count + 1, sizeof(*holding->names));
			holding->names[holding->lane_count] = holding->of->waits
								      ? holding->of->waits[i]
								      : recording->waits[i].ident;
			*lane = (uint32_t)holding->lane_count++;
		}
		holding->locks->lane_of[i] = *lane;
	}
}

static uint32_t lane_of_op(const void *context, size_t op)
{
	const struct holding *holding = context;
	uint32_t lock = holding->releases.lock_of[op];
	return lock == NO_INDEX ? NO_INDEX : holding->lane_of_lock[lock];
}

static int compare_holds(const void *a, const void *b, void *context)
{
	const struct rec_op *ops = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (ops[left].start_ns != ops[right].start_ns)
		return ops[left].start_ns < ops[right].start_ns ? -1 : 1;
	return (left > right) - (left < right);
}

/* Whether holds between these two may be missing in the recording. */
static bool misses_holds(const struct recording *recording, uint32_t last, uint32_t next)
{
	const struct rec_op_extra *extras = recording->extras;
	if (!extras[last].seq || !extras[next].seq || extras[last].shared || extras[next].shared ||
	    extras[last].address & SHARED_ADDRESS)
		return false;
	return extras[next].seq != extras[last].seq + 1;
}

static uint32_t part_of_hold(struct holding *holding, size_t lane, uint32_t hold)
{
	uint32_t stack = holding->of->recording->extras[hold].stack;
	uint32_t site = holding->of->sites && stack ? holding->of->sites[stack] : 0;
	return path_parts_add(holding->parts, PATH_LOCK, holding->names[lane], site);
}

/* One lock's holds, in order of their begin. */
static void lay_out(struct holding *holding, size_t lane, const uint32_t *holds, size_t count)
{
	const struct recording *recording = holding->of->recording;
	struct lanes *lanes = &holding->locks->lanes;
	uint32_t unknown = path_parts_add(holding->parts, PATH_LOCK, holding->names[lane], 0);
	uint32_t waking = path_parts_add(holding->parts, PATH_WAKING, 0, 0);
	uint64_t done_ns = 0;
	holding->locks->part_of[lane] = unknown;
	lanes_next(lanes);
	for (size_t i = 0; i < count; i++) {
		const struct rec_op *hold = &recording->ops[holds[i]];
		if (i > 0)
			lanes_add(lanes, done_ns, hold->start_ns,
				  misses_holds(recording, holds[i - 1], holds[i]) ? unknown
										  : waking);
		uint64_t start_ns = hold->start_ns > done_ns ? hold->start_ns : done_ns;
		lanes_add(lanes, start_ns, hold->end_ns, part_of_hold(holding, lane, holds[i]));
		done_ns = hold->end_ns > done_ns ? hold->end_ns : done_ns;
	}
}

void held_locks_build(struct held_locks *locks, struct path_parts *parts,
		      const struct request_paths_of *of)
{
	struct holding holding = { .locks = locks, .parts = parts, .of = of };
	struct buckets holds;
	size_t count;
	*locks = (struct held_locks){ 0 };
	locks->lane_of = memory_new(of->recording->wait_count, sizeof(*locks->lane_of));
	releases_build(&holding.releases, of->recording);
	find_lanes(&holding);
	locks->part_of = memory_new(holding.lane_count, sizeof(*locks->part_of));
	buckets_build(&holds, holding.lane_count, of->recording->op_count, lane_of_op, &holding);
	lanes_begin(&locks->lanes);
	for (size_t i = 0; i < holding.lane_count; i++) {
		uint32_t *of_lock = holds.items + holds.first[i];
		count = holds.first[i + 1] - holds.first[i];
		if (count > 1)
			qsort_r(of_lock, count, sizeof(*of_lock), compare_holds,
				of->recording->ops);
		lay_out(&holding, i, of_lock, count);
	}
	lanes_end(&locks->lanes, parts->tuples.count);
	buckets_free(&holds);
	releases_free(&holding.releases);
	free(holding.lane_of_lock);
	free(holding.names);
}

void held_locks_free(struct held_locks *locks)
{
	lanes_free(&locks->lanes);
	free(locks->lane_of);
	free(locks->part_of);
	*locks = (struct held_locks){ 0 };
}
