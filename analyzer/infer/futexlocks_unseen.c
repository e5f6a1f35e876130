/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds holds of locks made of futexes that no call tells of, as nobody waited for them.
 *
 * Method. Holds of a lock that are known mostly begin with the same call. Its stack is the same, so
 * it is at one place in the code, where the lock is held each time. The same call without a known
 * hold around it is in an unseen one. That has as many calls as the known ones. A place where
 * several locks are held tells nothing of any of them.
 */
#include "base/assumptions.h"
#include "base/bound.h"
#include "base/memory.h"
#include "futexlocks_parts.h"
#include "recording/words.h"

#include <stdlib.h>

/* The call that holds of a lock begin with. */
struct guide {
	uint32_t stack;
	uint32_t calls; /* in a hold */
	size_t first;   /* its holds: ops */
	size_t end;
};

struct search {
	struct recording *rec;
	size_t first_hold;
	uint32_t *calls; /* of threads that have holds, in order of thread and begin */
	size_t call_count;
	struct guide *guides; /* by stack */
	size_t guide_count;
	size_t guide_capacity;
	size_t op_capacity;
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

	for (size_t i = search->first_hold; i < rec->op_count; i++)
		has_holds[rec->ops[i].thread] = true;
	for (uint32_t i = 0; i < search->first_hold; i++) {
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

/* The call that nearly all holds of a lock begin with, if there is one. */
static void guide_find(struct search *search, size_t first, size_t end)
{
	const struct recording *rec = search->rec;
	struct guide *all = memory_new(end - first, sizeof(*all));
	size_t best = 0, most = 0;

	for (size_t i = first; i < end; i++) {
		size_t at = call_from(search, rec->ops[i].thread, rec->ops[i].start_ns);
		uint32_t calls = calls_in(search, &rec->ops[i], at);
		uint32_t stack = calls ? rec->extras[search->calls[at]].stack : 0;

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

/* Those of one lock alone, by stack. */
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

/* Whether a known hold of the lock has a part of that time. Its holds are in order, the last one
 * first. */
static bool is_held(const struct recording *rec, const struct guide *guide, uint64_t from_ns,
		    uint64_t to_ns)
{
	size_t first = guide->first, end = guide->end;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (rec->ops[middle].start_ns >= to_ns)
			first = middle + 1;
		else
			end = middle;
	}
	return first < guide->end && rec->ops[first].end_ns > from_ns;
}

/* A hold of the calls from that one on. */
static void hold_add(struct search *search, const struct guide *guide, size_t at)
{
	struct recording *rec = search->rec;
	const struct rec_op *call = &rec->ops[search->calls[at]];
	size_t last = at, capacity = search->op_capacity;

	while (last + 1 < at + guide->calls && last + 1 < search->call_count &&
	       rec->ops[search->calls[last + 1]].thread == call->thread)
		last++;
	struct rec_op hold = rec->ops[guide->first];

	hold.thread = call->thread;
	hold.parent = call->parent;
	hold.start_ns = call->start_ns;
	hold.end_ns = rec->ops[search->calls[last]].end_ns;
	if (is_held(rec, guide, hold.start_ns, hold.end_ns))
		return;
	rec->ops =
		memory_grow(rec->ops, &search->op_capacity, rec->op_count + 1, sizeof(*rec->ops));
	rec->extras = memory_grow(rec->extras, &capacity, rec->op_count + 1, sizeof(*rec->extras));
	rec->ops[rec->op_count] = hold;
	rec->extras[rec->op_count++] = rec->extras[guide->first];
}

void futex_unseen_find(struct recording *rec, size_t first_hold, size_t op_capacity)
{
	struct search search = { .rec = rec, .first_hold = first_hold, .op_capacity = op_capacity };
	size_t known_end = rec->op_count;

	if (first_hold == known_end)
		return;
	calls_find(&search);
	for (size_t first = first_hold, end; first < known_end; first = end) {
		for (end = first + 1; end < known_end; end++)
			if (rec->extras[end].address != rec->extras[first].address ||
			    rec->threads[rec->ops[end].thread].process !=
				    rec->threads[rec->ops[first].thread].process)
				break;
		guide_find(&search, first, end);
	}
	guides_select(&search);
	for (size_t i = 0; i < search.call_count; i++) {
		const struct guide key = { .stack = rec->extras[search.calls[i]].stack };
		size_t at = bound_lower(&key, search.guides, search.guide_count, sizeof(key),
					compare_stacks);

		if (at < search.guide_count && search.guides[at].stack == key.stack)
			hold_add(&search, &search.guides[at], i);
	}
	free(search.calls);
	free(search.guides);
}
