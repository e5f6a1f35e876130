/* SPDX-License-Identifier: Apache-2.0 */
/* Deals the ends of all holds out to their locks and sorts each lock's. One thread. */
#include "releases.h"

#include "base/memory.h"
#include "format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int compare_releases(const void *left, const void *right)
{
	const struct release *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->hold < b->hold ? -1 : a->hold > b->hold;
}

static uint32_t process_of(const struct recording *rec, uint32_t thread)
{
	return thread == NO_INDEX ? 0 : rec->threads[thread].process;
}

static void number_locks(struct releases *releases, const struct recording *rec)
{
	for (size_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];

		releases->lock_of[i] = NO_INDEX;
		if (op->kind == KIND_HOLD && rec->extras)
			releases->lock_of[i] =
				addresses_add(&releases->locks, process_of(rec, op->thread),
					      rec->extras[i].address);
	}
}

void releases_build(struct releases *releases, const struct recording *rec)
{
	memset(releases, 0, sizeof(*releases));
	releases->lock_of = memory_new(rec->op_count, sizeof(*releases->lock_of));
	number_locks(releases, rec);
	size_t locks = releases->locks.count;
	releases->first = memory_new(locks + 2, sizeof(*releases->first));
	for (size_t i = 0; i < rec->op_count; i++)
		if (releases->lock_of[i] != NO_INDEX)
			releases->first[releases->lock_of[i] + 2]++;
	for (size_t l = 0; l < locks; l++)
		releases->first[l + 2] += releases->first[l + 1];
	releases->ends = memory_new(releases->first[locks + 1], sizeof(*releases->ends));
	/* first[l + 1] is where lock l's next goes, and so its end when all are dealt out */
	for (size_t i = 0; i < rec->op_count; i++)
		if (releases->lock_of[i] != NO_INDEX)
			releases->ends[releases->first[releases->lock_of[i] + 1]++] =
				(struct release){ rec->ops[i].end_ns, (uint32_t)i };
	for (size_t l = 0; l < locks; l++)
		qsort(releases->ends + releases->first[l],
		      releases->first[l + 1] - releases->first[l], sizeof(*releases->ends),
		      compare_releases);
}

void releases_free(struct releases *releases)
{
	addresses_free(&releases->locks);
	free(releases->ends);
	free(releases->first);
	free(releases->lock_of);
	memset(releases, 0, sizeof(*releases));
}

/* The first release of the lock after this time, as an index; the end of the lock's if none. */
static size_t first_after(const struct releases *releases, uint32_t lock, uint64_t at_ns)
{
	assert(lock < releases->locks.count);
	size_t low = releases->first[lock], high = releases->first[lock + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (releases->ends[middle].at_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct release *releases_first(const struct releases *releases, uint32_t lock,
				     uint64_t after_ns)
{
	return releases->ends + first_after(releases, lock, after_ns);
}

const struct release *releases_last(const struct releases *releases, const struct recording *rec,
				    uint32_t lock, uint64_t after_ns, uint64_t before_ns,
				    uint32_t thread)
{
	if (lock == NO_INDEX)
		return NULL;
	assert(lock < releases->locks.count);
	size_t begin = releases->first[lock], at = first_after(releases, lock, before_ns);

	while (at-- > begin && releases->ends[at].at_ns > after_ns)
		if (rec->ops[releases->ends[at].hold].thread != thread)
			return &releases->ends[at];
	return NULL;
}

/* A hold that is one process's own, and no reader's: those are numbered one by one. */
static bool is_numbered(const struct recording *rec, uint32_t hold)
{
	return hold != NO_INDEX && rec->extras[hold].seq > 0 && !rec->extras[hold].shared &&
	       !(rec->extras[hold].address & SHARED_ADDRESS);
}

const struct release *releases_granting(const struct releases *releases,
					const struct recording *rec, uint32_t lock, uint32_t hold,
					uint64_t after_ns, uint64_t before_ns, uint32_t thread)
{
	if (lock == NO_INDEX)
		return NULL;
	if (!is_numbered(rec, hold))
		return releases_last(releases, rec, lock, after_ns, before_ns, thread);
	size_t begin = releases->first[lock], at = first_after(releases, lock, before_ns);

	while (at-- > begin && releases->ends[at].at_ns > after_ns) {
		uint32_t other = releases->ends[at].hold;

		if (is_numbered(rec, other) && rec->extras[other].seq + 1 == rec->extras[hold].seq)
			return &releases->ends[at];
	}
	return releases_last(releases, rec, lock, after_ns, before_ns, thread);
}
