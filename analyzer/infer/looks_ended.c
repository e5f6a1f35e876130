/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether rows of sleeps end with what other threads do; looks.h has the contract.
 *
 * Method. Where rows of a class have several lengths, something decides how long they are. Calls or
 * sleeps of other threads may end during nearly every last sleep of a row, and during far fewer of
 * the others. If all these are of one class, they decide. Work in pieces ends at any time.
 * Sleeps of the rows' own class decide nothing: they are looks as well, or pieces of the same work.
 *
 * One thread.
 */
#include "looks_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"

enum { EVENTS_MAX = 64, ROWS_MAX = 512 }; /* that are looked at: in a sleep, of a class */

static int compare_ends(const void *left, const void *right, void *context)
{
	const struct rec_op *ops = context;
	const uint32_t *a = left, *b = right;
	if (ops[*a].end_ns != ops[*b].end_ns)
		return ops[*a].end_ns < ops[*b].end_ns ? -1 : 1;
	return (*a > *b) - (*a < *b);
}

void look_ends_find(struct look_ends *ends, const struct look_search *found)
{
	const struct recording *recording = found->recording;
	*ends = (struct look_ends){ found, memory_new(recording->op_count, sizeof(*ends->ops)), 0 };
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if ((op->kind == KIND_SLEEP || op->kind == KIND_IO) && op->thread != NO_INDEX &&
		    !recording->extras[i].open)
			ends->ops[ends->count++] = i;
	}
	qsort_r(ends->ops, ends->count, sizeof(*ends->ops), compare_ends, recording->ops);
}

void look_ends_free(struct look_ends *ends)
{
	free(ends->ops);
	*ends = (struct look_ends){ 0 };
}

/* By class, how many sleeps had an end of it: the last ones of rows, and the others. */
struct tally {
	uint32_t *lasts;
	uint32_t *others;
	uint32_t *seen_in; /* the sleep that was counted last */
	uint32_t last_count;
	uint32_t other_count;
};

static size_t first_end(const struct look_ends *ends, uint64_t from_ns)
{
	const struct rec_op *ops = ends->found->recording->ops;
	size_t low = 0, high = ends->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (ops[ends->ops[middle]].end_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void sleep_count(struct tally *tally, const struct look_ends *ends, uint32_t sleep,
			bool is_last)
{
	const struct rec_op *ops = ends->found->recording->ops, *op = &ops[sleep];
	size_t from = first_end(ends, op->start_ns);
	uint32_t number = tally->last_count + tally->other_count + 1;
	for (size_t i = from; i < ends->count && i < from + EVENTS_MAX; i++) {
		const struct rec_op *other = &ops[ends->ops[i]];
		uint32_t class = ends->found->classes->of_op[ends->ops[i]];
		if (other->end_ns >= op->end_ns)
			break;
		if (other->thread == op->thread || tally->seen_in[class] == number)
			continue;
		tally->seen_in[class] = number;
		(is_last ? tally->lasts : tally->others)[class]++;
	}
	(is_last ? &tally->last_count : &tally->other_count)[0]++;
}

/* Some class ends nearly all rows, and comes in half as many of the other sleeps at most. `own`:
 * the class of these. */
static bool has_ender(const struct tally *tally, uint32_t class_count, uint32_t own)
{
	for (uint32_t i = 0; i < class_count; i++) {
		if (i == own)
			continue;
		double last = (double)tally->lasts[i] / tally->last_count;
		double other = (double)tally->others[i] / tally->other_count;
		if (last >= assume.ended_share && 2 * other <= last)
			return true;
	}
	return false;
}

bool look_rows_are_ended(const struct look_ends *ends, const uint32_t *sleeps, const bool *follows,
			 uint32_t count)
{
	uint32_t class_count = ends->found->classes->count, rows = 0, length = 0, before = 0;
	bool varies = false;
	struct tally tally = { memory_new(class_count, sizeof(*tally.lasts)),
			       memory_new(class_count, sizeof(*tally.others)),
			       memory_new(class_count, sizeof(*tally.seen_in)), 0, 0 };
	for (uint32_t i = 0; i < count && rows < ROWS_MAX; i++) {
		bool is_last = i + 1 == count || !follows[i + 1];
		length++;
		sleep_count(&tally, ends, sleeps[i], is_last);
		if (!is_last)
			continue;
		varies |= rows && length != before;
		before = length;
		length = 0;
		rows++;
	}
	bool is_ended = varies && tally.last_count >= assume.ended_waits &&
			tally.other_count >= assume.ended_waits &&
			has_ender(&tally, class_count, ends->found->classes->of_op[sleeps[0]]);
	free(tally.lasts);
	free(tally.others);
	free(tally.seen_in);
	return is_ended;
}
