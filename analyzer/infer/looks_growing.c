/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds sleeps that grow until a try succeeds; looks.h has the contract.
 *
 * Method. A thread that tries again and again asks for longer sleeps from one try to the next, and
 * begins anew with a short one. Work is not like that. So sleeps of a class that follow each other,
 * with a brief try between them, must hardly ever be shorter than the one before. Each such row is
 * as long as other threads made it, even one of a single sleep.
 */
#include "looks_parts.h"

#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"

struct growing {
	const struct look_search *found;
	uint32_t *ops; /* sleeps by class, then thread, then start */
	uint32_t count;
	size_t capacity; /* of the rows */
};

static int compare_sleeps(const void *left, const void *right, void *context)
{
	const struct look_search *found = context;
	const uint32_t *a = left, *b = right;
	const struct rec_op *ops = found->recording->ops;
	uint32_t a_class = found->classes->of_op[*a], b_class = found->classes->of_op[*b];
	if (a_class != b_class)
		return a_class < b_class ? -1 : 1;
	if (ops[*a].thread != ops[*b].thread)
		return ops[*a].thread < ops[*b].thread ? -1 : 1;
	if (ops[*a].start_ns != ops[*b].start_ns)
		return ops[*a].start_ns < ops[*b].start_ns ? -1 : 1;
	return (*a > *b) - (*a < *b);
}

static void sleeps_find(struct growing *growing)
{
	const struct recording *recording = growing->found->recording;
	growing->ops = memory_new(recording->op_count, sizeof(*growing->ops));
	for (uint32_t i = 0; i < recording->op_count; i++)
		if (recording->ops[i].kind == KIND_SLEEP && !recording->extras[i].open &&
		    recording->ops[i].thread != NO_INDEX)
			growing->ops[growing->count++] = i;
	qsort_r(growing->ops, growing->count, sizeof(*growing->ops), compare_sleeps,
		(void *)growing->found);
}

static const struct rec_op *sleep_at(const struct growing *growing, uint32_t i)
{
	return &growing->found->recording->ops[growing->ops[i]];
}

static double asked_ns(const struct growing *growing, uint32_t i)
{
	return (double)growing->found->recording->extras[growing->ops[i]].amount;
}

/* Of one class: the sleep goes on with the row of the one before. */
static bool follows(const struct growing *growing, uint32_t i)
{
	const struct rec_op *before = sleep_at(growing, i - 1), *sleep = sleep_at(growing, i);
	return before->thread == sleep->thread &&
	       (double)(sleep->start_ns - before->end_ns) <=
		       assume.look_gap * (double)(before->end_ns - before->start_ns);
}

/* The sleeps of a class grow, and each row begins anew. */
static bool grow(const struct growing *growing, uint32_t first, uint32_t end)
{
	uint32_t longer = 0, rows = 0, against = 0, pairs = 0;
	for (uint32_t i = first + 1; i < end; i++) {
		double before_ns = asked_ns(growing, i - 1), ns = asked_ns(growing, i);
		pairs++;
		if (follows(growing, i)) {
			longer += ns > before_ns * (1 + assume.look_gap);
			against += ns < before_ns;
		} else {
			rows++;
			against += i > first + 1 && follows(growing, i - 1) && ns >= before_ns;
		}
	}
	return longer >= assume.ended_waits && rows >= assume.ended_waits &&
	       (double)against <= (1 - assume.ended_share) * pairs;
}

/* A row that nobody is known to end, unless it is one already. */
static void row_add(struct growing *growing, struct looks *looks, uint32_t first, uint32_t end)
{
	const struct look_search *found = growing->found;
	const struct rec_op *sleep = sleep_at(growing, first);
	uint32_t op = growing->ops[first], last = growing->ops[end - 1];
	if (looks_of(found->looks, found->recording, op) ||
	    looks_of(found->looks, found->recording, last))
		return;
	looks->rows = memory_grow(looks->rows, &growing->capacity, looks->count + 1,
				  sizeof(*looks->rows));
	looks->rows[looks->count++] = (struct look_row){ .thread = sleep->thread,
							 .class = found->classes->of_op[op],
							 .first = op,
							 .first_ns = sleep->start_ns,
							 .last = last,
							 .count = end - first,
							 .ender = NO_INDEX,
							 .hold = NO_INDEX,
							 .sort = LOOK_KEPT };
}

void look_growing_find(struct looks *looks, const struct look_search *found)
{
	struct growing growing = { .found = found };
	sleeps_find(&growing);
	for (uint32_t first = 0, end; first < growing.count; first = end) {
		uint32_t class = found->classes->of_op[growing.ops[first]];
		for (end = first;
		     end < growing.count && found->classes->of_op[growing.ops[end]] == class;)
			end++;
		if (!grow(&growing, first, end))
			continue;
		for (uint32_t from = first, to; from < end; from = to) {
			for (to = from + 1; to < end && follows(&growing, to);)
				to++;
			row_add(&growing, looks, from, to);
		}
	}
	free(growing.ops);
}
