/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the holders of locks that processes share; holders.h has the contract.
 *
 * Method. The kernel's number of a thread names it in all processes, but not for ever. Of several
 * threads with the number, the holder is one that lived when the wait began. One of the waiter's
 * own process comes first. The thread that let a shared lock go is found by the ends of its
 * holds in all processes.
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

void holders_find(struct recording *rec)
{
	bool has_holders = false, lacks_targets = false;

	for (size_t i = 0; i < rec->wait_count; i++) {
		has_holders |= rec->waits[i].holder_tid != 0;
		lacks_targets |= lacks_target(&rec->waits[i]);
	}
	if (has_holders)
		find_holders(rec);
	if (lacks_targets)
		find_targets(rec);
}
