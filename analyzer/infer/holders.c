/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the holders of locks that processes share; holders.h has the contract.
 *
 * Method. The kernel's number of a thread names it in all processes, but not for ever. Of several
 * threads with the number, the holder is one that lived when the wait began. One of the waiter's
 * own process comes first. The thread that let a shared lock go is found by the ends of its
 * holds in all processes.
 *
 * A lock is watched from the first time on that somebody waits for it. The hold that is under way
 * begins then in the recording. If its thread was in a wait, it had begun before that.
 *
 * One thread.
 */
#include "holders.h"

#include "base/memory.h"
#include "format.h"
#include "recording/releases.h"

#include <assert.h>
#include <stdlib.h>

struct named {
	uint32_t tid;
	uint32_t thread;
};

static int compare_named(const void *left, const void *right)
{
	const struct named *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static bool lived_at(const struct recording *rec, uint32_t thread, uint64_t at_ns)
{
	uint32_t op = rec->threads[thread].op;

	return op != NO_INDEX && rec->ops[op].start_ns <= at_ns && rec->ops[op].end_ns >= at_ns;
}

static size_t first_of(const struct named *named, size_t count, uint32_t tid)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (named[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t thread_of(const struct recording *rec, const struct named *named,
			  const struct rec_wait *wait)
{
	uint32_t process = wait->thread == NO_INDEX ? NO_INDEX : rec->threads[wait->thread].process;
	uint32_t found = NO_INDEX;

	assert(wait->holder_tid);
	for (size_t i = first_of(named, rec->thread_count, wait->holder_tid);
	     i < rec->thread_count && named[i].tid == wait->holder_tid; i++) {
		if (!lived_at(rec, named[i].thread, wait->start_ns))
			continue;
		if (found == NO_INDEX || rec->threads[named[i].thread].process == process)
			found = named[i].thread;
	}
	return found;
}

static void find_holders(struct recording *rec)
{
	struct named *named = memory_new(rec->thread_count, sizeof(*named));

	for (uint32_t i = 0; i < rec->thread_count; i++)
		named[i] = (struct named){ rec->threads[i].tid, i };
	if (rec->thread_count)
		qsort(named, rec->thread_count, sizeof(*named), compare_named);
	for (size_t i = 0; i < rec->wait_count; i++)
		if (rec->waits[i].holder_tid)
			rec->waits[i].holder = thread_of(rec, named, &rec->waits[i]);
	free(named);
}

/* A wait for a lock of which its own process did not see the release. */
static bool lacks_target(const struct rec_wait *wait)
{
	return wait->target == NO_INDEX && !wait->open && !wait->timed_out &&
	       wait->thread != NO_INDEX && (wait->owner_died || wait->address & SHARED_ADDRESS) &&
	       (wait->reason == REASON_MUTEX || wait->reason == REASON_RWLOCK_READ ||
		wait->reason == REASON_RWLOCK_WRITE);
}

static void find_targets(struct recording *rec)
{
	struct releases releases;

	releases_build(&releases, rec);
	for (size_t i = 0; i < rec->wait_count; i++) {
		struct rec_wait *wait = &rec->waits[i];

		if (!lacks_target(wait))
			continue;
		uint32_t lock = addresses_find(&releases.locks, rec->threads[wait->thread].process,
					       wait->address);
		const struct release *release = releases_last(&releases, rec, lock, wait->start_ns,
							      wait->end_ns, wait->thread);

		if (release)
			wait->target = release->hold;
	}
	releases_free(&releases);
}

/* --- holds that were under way --- */

static int compare_waits(const void *left, const void *right, void *waits)
{
	const struct rec_wait *a = (const struct rec_wait *)waits + *(const uint32_t *)left;
	const struct rec_wait *b = (const struct rec_wait *)waits + *(const uint32_t *)right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The last wait that the thread began before that time; NULL = none. */
static const struct rec_wait *wait_before(const struct recording *rec, const uint32_t *order,
					  uint32_t thread, uint64_t at_ns)
{
	size_t low = 0, high = rec->wait_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct rec_wait *wait = &rec->waits[order[middle]];

		if (wait->thread < thread || (wait->thread == thread && wait->start_ns < at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && rec->waits[order[low - 1]].thread == thread ? &rec->waits[order[low - 1]]
								      : NULL;
}

static void begin_before_waits(struct recording *rec)
{
	uint32_t *order = memory_new(rec->wait_count, sizeof(*order));

	for (uint32_t i = 0; i < rec->wait_count; i++)
		order[i] = i;
	qsort_r(order, rec->wait_count, sizeof(*order), compare_waits, rec->waits);
	for (size_t i = 0; i < rec->op_count; i++) {
		struct rec_op *hold = &rec->ops[i];

		if (hold->kind != KIND_HOLD || hold->thread == NO_INDEX || rec->extras[i].seq != 1)
			continue;
		const struct rec_wait *wait = wait_before(rec, order, hold->thread, hold->start_ns);

		if (wait && wait->end_ns > hold->start_ns)
			hold->start_ns = wait->start_ns;
	}
	free(order);
}

void holders_find(struct recording *rec)
{
	bool has_holders = false, lacks_targets = false;

	for (size_t i = 0; i < rec->wait_count; i++) {
		has_holders |= rec->waits[i].holder_tid != 0;
		lacks_targets |= lacks_target(&rec->waits[i]);
	}
	if (rec->wait_count)
		begin_before_waits(rec);
	if (has_holders)
		find_holders(rec);
	if (lacks_targets)
		find_targets(rec);
}
