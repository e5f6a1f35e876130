/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds holds of locks made of futexes that no call tells of, as nobody waited for them.
 *
 * Method. Holds of a family that are known mostly begin with the same call. Its stack is the same,
 * so it is at one place in the code, where a lock of the family is held each time. The same call
 * without a known hold around it is in an unseen one. That has as many calls as the known ones. A
 * place where locks of several families are held tells nothing of any of them.
 *
 * Which lock of its family an unseen hold is of is not known. There are as many locks as make the
 * recorded share of comers find their own one taken: with so many taken, one in so many. An unseen
 * hold gets any of them that nobody else has meanwhile. If there is only one lock, and that is
 * taken, the call is in no hold.
 */
#include "base/assumptions.h"
#include "base/bound.h"
#include "base/hash.h"
#include "base/memory.h"
#include "futexlocks_parts.h"
#include "recording/words.h"

#include <stdlib.h>

/* The call that holds of a family begin with. */
struct guide {
	uint32_t stack;
	uint32_t calls; /* in a hold */
	size_t first;   /* its holds: ops */
	size_t end;
};

/* A lock of a family. */
struct lock {
	uint64_t address;
	size_t first; /* its known holds: ops, the last one first */
	size_t end;
	uint64_t until_ns; /* the end of its last unseen hold */
};

struct unseen {
	uint64_t from_ns;
	uint64_t to_ns;
	uint32_t call; /* op index: its first one */
	uint32_t guide;
};

struct search {
	struct recording *rec;
	const struct futex_holds *known;
	uint32_t *calls; /* of threads that have holds, in order of thread and begin */
	size_t call_count;
	struct guide *guides; /* by stack */
	size_t guide_count;
	size_t guide_capacity;
	bool *is_seen; /* by call: a known hold of its thread has a part of it */
	struct unseen *unseen;
	size_t unseen_count;
	size_t unseen_capacity;
	size_t op_capacity;
	uint64_t made_up; /* addresses */
};

static int compare_calls(const void *left, const void *right, void *context)
{
	const struct rec_op *ops = context;
	const struct rec_op *a = &ops[*(const uint32_t *)left], *b = &ops[*(const uint32_t *)right];

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static void calls_find(struct search *search)
{
	const struct recording *rec = search->rec;
	bool *has_holds = memory_new(rec->thread_count, sizeof(*has_holds));
	size_t capacity = 0;

	for (size_t i = search->known->first; i < rec->op_count; i++)
		has_holds[rec->ops[i].thread] = true;
	for (uint32_t i = 0; i < search->known->first; i++) {
		const struct rec_op *op = &rec->ops[i];

		if (op->thread == NO_INDEX || !has_holds[op->thread] || !words_is_call(op->kind))
			continue;
		search->calls = memory_grow(search->calls, &capacity, search->call_count + 1,
					    sizeof(*search->calls));
		search->calls[search->call_count++] = i;
	}
	if (search->call_count)
		qsort_r(search->calls, search->call_count, sizeof(*search->calls), compare_calls,
			rec->ops);
	free(has_holds);
}

/* The first call of that thread that begins then or later, among the calls. */
static size_t call_from(const struct search *search, uint32_t thread, uint64_t from_ns)
{
	size_t first = 0, end = search->call_count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;
		const struct rec_op *op = &search->rec->ops[search->calls[middle]];

		if (op->thread < thread || (op->thread == thread && op->start_ns < from_ns))
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* How many calls of the hold's thread are in the hold; the first one is `at` among the calls. */
static uint32_t calls_in(const struct search *search, const struct rec_op *hold, size_t at)
{
	uint32_t count = 0;

	for (; at < search->call_count; at++, count++) {
		const struct rec_op *op = &search->rec->ops[search->calls[at]];

		if (op->thread != hold->thread || op->end_ns > hold->end_ns)
			break;
	}
	return count;
}

static int compare_guides(const void *left, const void *right)
{
	const struct guide *a = left, *b = right;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->calls > b->calls) - (a->calls < b->calls);
}

/* Calls of the hold's thread that the hold has a part of; `at`: the first one that begins in it. */
static void calls_see(struct search *search, const struct rec_op *hold, size_t at)
{
	const struct rec_op *ops = search->rec->ops;

	if (at > 0 && ops[search->calls[at - 1]].thread == hold->thread &&
	    ops[search->calls[at - 1]].end_ns > hold->start_ns)
		search->is_seen[at - 1] = true;
	for (; at < search->call_count; at++) {
		const struct rec_op *op = &ops[search->calls[at]];

		if (op->thread != hold->thread || op->start_ns >= hold->end_ns)
			break;
		search->is_seen[at] = true;
	}
}

/* The call that nearly all holds of a family begin with, if there is one. */
static void guide_find(struct search *search, size_t first, size_t end)
{
	const struct recording *rec = search->rec;
	struct guide *all = memory_new(end - first, sizeof(*all));
	size_t best = 0, most = 0;

	for (size_t i = first; i < end; i++) {
		size_t at = call_from(search, rec->ops[i].thread, rec->ops[i].start_ns);
		uint32_t calls = calls_in(search, &rec->ops[i], at);
		uint32_t stack = calls ? rec->extras[search->calls[at]].stack : 0;

		calls_see(search, &rec->ops[i], at);
		all[i - first] = (struct guide){ stack, calls, first, end };
	}
	qsort(all, end - first, sizeof(*all), compare_guides);
	for (size_t i = 0, same; i < end - first; i += same) {
		for (same = 1; i + same < end - first && all[i + same].stack == all[i].stack;)
			same++;
		if (same > most) {
			most = same;
			best = i + same / 2; /* with as many calls as is usual */
		}
	}
	if (all[best].stack && (double)most >= (1 - assume.group_varies) * (double)(end - first)) {
		search->guides = memory_grow(search->guides, &search->guide_capacity,
					     search->guide_count + 1, sizeof(*search->guides));
		search->guides[search->guide_count++] = all[best];
	}
	free(all);
}

/* Those of one family alone, by stack. */
static void guides_select(struct search *search)
{
	size_t kept = 0;

	if (search->guide_count)
		qsort(search->guides, search->guide_count, sizeof(*search->guides), compare_guides);
	for (size_t i = 0, same; i < search->guide_count; i += same) {
		for (same = 1; i + same < search->guide_count &&
			       search->guides[i + same].stack == search->guides[i].stack;)
			same++;
		if (same == 1)
			search->guides[kept++] = search->guides[i];
	}
	search->guide_count = kept;
}

static int compare_stacks(const void *left, const void *right)
{
	const struct guide *a = left, *b = right;

	return (a->stack > b->stack) - (a->stack < b->stack);
}

/* The hold of the calls from that one on. */
static void unseen_add(struct search *search, size_t guide, size_t at)
{
	const struct recording *rec = search->rec;
	const struct rec_op *call = &rec->ops[search->calls[at]];
	size_t last = at;

	while (last + 1 < at + search->guides[guide].calls && last + 1 < search->call_count &&
	       rec->ops[search->calls[last + 1]].thread == call->thread)
		last++;
	search->unseen = memory_grow(search->unseen, &search->unseen_capacity,
				     search->unseen_count + 1, sizeof(*search->unseen));
	search->unseen[search->unseen_count++] = (struct unseen){
		.from_ns = call->start_ns,
		.to_ns = rec->ops[search->calls[last]].end_ns,
		.call = search->calls[at],
		.guide = (uint32_t)guide,
	};
}

static int compare_unseen(const void *left, const void *right)
{
	const struct unseen *a = left, *b = right;

	if (a->guide != b->guide)
		return a->guide < b->guide ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static void unseen_find(struct search *search)
{
	for (size_t i = 0; i < search->call_count; i++) {
		const struct guide key = { .stack = search->rec->extras[search->calls[i]].stack };
		size_t at = bound_lower(&key, search->guides, search->guide_count, sizeof(key),
					compare_stacks);

		if (!search->is_seen[i] && at < search->guide_count &&
		    search->guides[at].stack == key.stack)
			unseen_add(search, at, i);
	}
	if (search->unseen_count)
		qsort(search->unseen, search->unseen_count, sizeof(*search->unseen),
		      compare_unseen);
}

/* --- which lock --- */

static int compare_times(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* When each hold of a family was come for, began and ended: the known ones, then the unseen. */
struct times {
	uint64_t *came_ns;
	uint64_t *begins_ns;
	uint64_t *ends_ns;
	size_t count;
	size_t waits;
};

static void times_find(struct times *times, const struct search *search, const struct guide *guide,
		       const struct unseen *unseen, size_t count)
{
	const struct rec_op *ops = search->rec->ops;
	size_t all = guide->end - guide->first + count;

	*times = (struct times){ .came_ns = memory_new(all, sizeof(uint64_t)),
				 .begins_ns = memory_new(all, sizeof(uint64_t)),
				 .ends_ns = memory_new(all, sizeof(uint64_t)) };
	for (size_t i = guide->first; i < guide->end; i++) {
		uint64_t came_ns = search->known->came_ns[i - search->known->first];

		times->came_ns[times->count] = came_ns ? came_ns : ops[i].start_ns;
		times->begins_ns[times->count] = ops[i].start_ns;
		times->ends_ns[times->count++] = ops[i].end_ns;
		times->waits += came_ns > 0;
	}
	for (size_t i = 0; i < count; i++) {
		times->came_ns[times->count] = times->begins_ns[times->count] = unseen[i].from_ns;
		times->ends_ns[times->count++] = unseen[i].to_ns;
	}
	qsort(times->begins_ns, all, sizeof(uint64_t), compare_times);
	qsort(times->ends_ns, all, sizeof(uint64_t), compare_times);
}

/* With as many locks, and those of them that were taken, as many comers would have had to wait. */
static size_t lock_count(const struct search *search, const struct guide *guide,
			 const struct unseen *unseen, size_t count)
{
	struct times times;
	size_t taken = 0;

	times_find(&times, search, guide, unseen, count);
	for (size_t i = 0; i < times.count; i++) {
		size_t begun = bound_lower(&times.came_ns[i], times.begins_ns, times.count,
					   sizeof(uint64_t), compare_times);
		size_t ended = bound_lower(&times.came_ns[i], times.ends_ns, times.count,
					   sizeof(uint64_t), compare_times);

		taken += begun > ended ? begun - ended : 0;
	}
	size_t locks = times.waits ? (taken + times.waits / 2) / times.waits : 1;
	locks = locks > times.count ? times.count : locks;
	free(times.came_ns);
	free(times.begins_ns);
	free(times.ends_ns);
	return locks;
}

/* An address that no futex has, as all of those are multiples of 4, and no other lock. */
static uint64_t made_up_address(struct search *search)
{
	return 4 * search->made_up++ + 1;
}

/* Those with known holds, and as many more as there seem to be. To be freed. */
static struct lock *locks_find(struct search *search, const struct guide *guide, size_t wanted,
			       size_t *count)
{
	const struct recording *rec = search->rec;
	struct lock *locks = memory_new(guide->end - guide->first + wanted, sizeof(*locks));

	*count = 0;
	for (size_t i = guide->first; i < guide->end; i++) {
		uint64_t address = rec->extras[i].address;

		if (!*count || locks[*count - 1].address != address)
			locks[(*count)++] = (struct lock){ .address = address, .first = i };
		locks[*count - 1].end = i + 1;
	}
	while (*count < wanted)
		locks[(*count)++] = (struct lock){ .address = made_up_address(search),
						   .first = guide->first,
						   .end = guide->first };
	return locks;
}

/* Whether a hold of the lock has a part of that time. */
static bool is_held(const struct recording *rec, const struct lock *lock, uint64_t from_ns,
		    uint64_t to_ns)
{
	size_t first = lock->first, end = lock->end;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (rec->ops[middle].start_ns >= to_ns)
			first = middle + 1;
		else
			end = middle;
	}
	return lock->until_ns > from_ns || (first < lock->end && rec->ops[first].end_ns > from_ns);
}

/* As the first known hold of its lock, or of its family. */
static void hold_add(struct search *search, struct lock *lock, const struct unseen *unseen)
{
	struct recording *rec = search->rec;
	size_t capacity = search->op_capacity;
	struct rec_op hold = rec->ops[lock->first];

	hold.thread = rec->ops[unseen->call].thread;
	hold.parent = rec->ops[unseen->call].parent;
	hold.start_ns = unseen->from_ns;
	hold.end_ns = lock->until_ns = unseen->to_ns;
	rec->ops =
		memory_grow(rec->ops, &search->op_capacity, rec->op_count + 1, sizeof(*rec->ops));
	rec->extras = memory_grow(rec->extras, &capacity, rec->op_count + 1, sizeof(*rec->extras));
	rec->ops[rec->op_count] = hold;
	rec->extras[rec->op_count] = rec->extras[lock->first];
	rec->extras[rec->op_count++].address = lock->address;
	rec->unseen_holds++;
}

/* All unseen holds of a guide. */
static void locks_give(struct search *search, const struct unseen *unseen, size_t count)
{
	const struct guide *guide = &search->guides[unseen->guide];
	size_t locks_count;
	struct lock *locks =
		locks_find(search, guide, lock_count(search, guide, unseen, count), &locks_count);

	for (uint32_t i = 0; i < count; i++) {
		size_t lock = hash_index(i) % locks_count, tries = 0;

		while (tries++ < locks_count &&
		       is_held(search->rec, &locks[lock], unseen[i].from_ns, unseen[i].to_ns))
			lock = (lock + 1) % locks_count;
		if (tries <= locks_count)
			hold_add(search, &locks[lock], &unseen[i]);
	}
	free(locks);
}

void futex_unseen_find(struct recording *rec, const struct futex_holds *known)
{
	struct search search = { .rec = rec, .known = known, .op_capacity = known->op_capacity };

	if (!known->family_count)
		return;
	calls_find(&search);
	search.is_seen = memory_new(search.call_count, sizeof(*search.is_seen));
	for (size_t i = 0; i < known->family_count; i++)
		guide_find(&search, i ? known->family_ends[i - 1] : known->first,
			   known->family_ends[i]);
	guides_select(&search);
	unseen_find(&search);
	for (size_t first = 0, end; first < search.unseen_count; first = end) {
		for (end = first + 1; end < search.unseen_count; end++)
			if (search.unseen[end].guide != search.unseen[first].guide)
				break;
		locks_give(&search, &search.unseen[first], end - first);
	}
	free(search.calls);
	free(search.guides);
	free(search.is_seen);
	free(search.unseen);
}
