/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits and holds as rows: sorted by what a row has in common, each stretch of equals is a row.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "measure/contention.h"
#include "rows_parts.h"

/* The part before `ns` is what a row has in common. */
struct interval {
	uint32_t reason;
	uint32_t name;
	uint32_t stack;
	uint32_t holder_stack;
	uint64_t ns;
};

struct sums {
	uint64_t total_ns;
	uint64_t max_ns;
	uint32_t bins[CONTENTION_BINS];
};

static int compare_common(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;
	if (a->reason != b->reason)
		return a->reason < b->reason ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->holder_stack > b->holder_stack) - (a->holder_stack < b->holder_stack);
}

static size_t end_of_row(const struct interval *intervals, size_t from, size_t count)
{
	size_t to = from + 1;
	while (to < count && compare_common(&intervals[from], &intervals[to]) == 0)
		to++;
	return to;
}

static void add_up(struct sums *sums, const struct interval *intervals, size_t from, size_t to)
{
	memset(sums, 0, sizeof(*sums));
	for (size_t i = from; i < to; i++) {
		uint64_t ns = intervals[i].ns;
		sums->total_ns += ns;
		sums->max_ns = ns > sums->max_ns ? ns : sums->max_ns;
		sums->bins[contention_bin(ns)]++;
	}
}

static uint32_t stack_of_op(const struct rows *rows, size_t op)
{
	const struct rec_op_extra *extras = rows->analysis->recording->extras;
	return extras ? rows->stacks.same[extras[op].stack] : 0;
}

static struct interval *find_waits(const struct rows *rows)
{
	const struct analysis *analysis = rows->analysis;
	const struct recording *recording = analysis->recording;
	const uint32_t *names = analysis->labels ? analysis->labels->waits : NULL;
	struct interval *intervals = memory_new(recording->wait_count, sizeof(*intervals));
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		uint32_t target = analysis->graph.wait_target[i];
		bool is_hold = target != NO_INDEX && recording->ops[target].kind == KIND_HOLD;
		intervals[i] = (struct interval){
			.reason = wait->reason,
			.name = names ? names[i] : wait->ident,
			.stack = rows->stacks.same[wait->stack],
			.holder_stack = is_hold ? stack_of_op(rows, target) : 0,
			.ns = wait->end_ns - wait->start_ns,
		};
	}
	return intervals;
}

void rows_of_waits(struct rows *rows)
{
	const struct recording *recording = rows->analysis->recording;
	struct interval *intervals = find_waits(rows);
	struct sums *sums = memory_new(1, sizeof(*sums));
	size_t count = recording->wait_count;
	if (count)
		qsort(intervals, count, sizeof(*intervals), compare_common);
	for (size_t from = 0, to; from < count; from = to) {
		to = end_of_row(intervals, from, count);
		add_up(sums, intervals, from, to);
		row_begin(rows, ROWS_WAIT);
		row_text(rows, "reason", recording->reasons.words[intervals[from].reason]);
		row_text(rows, "resource", recording->strings[intervals[from].name]);
		row_stack(rows, "waiter_stack", intervals[from].stack);
		row_stack(rows, "holder_stack", intervals[from].holder_stack);
		row_count(rows, "n", to - from);
		row_count(rows, "total_ns", sums->total_ns);
		row_count(rows, "max_ns", sums->max_ns);
		row_histogram(rows, "hist", sums->bins);
		row_end(rows);
	}
	free(sums);
	free(intervals);
}

static struct interval *find_holds(const struct rows *rows, size_t *count)
{
	const struct analysis *analysis = rows->analysis;
	const struct recording *recording = analysis->recording;
	const uint32_t *names = analysis->labels ? analysis->labels->ops : NULL;
	struct interval *intervals = memory_new(recording->op_count, sizeof(*intervals));
	*count = 0;
	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->kind == KIND_HOLD)
			intervals[(*count)++] = (struct interval){
				.name = names ? names[i] : op->name,
				.stack = stack_of_op(rows, i),
				.ns = op->end_ns - op->start_ns,
			};
	}
	return intervals;
}

void rows_of_holds(struct rows *rows)
{
	size_t count;
	struct interval *intervals = find_holds(rows, &count);
	struct sums *sums = memory_new(1, sizeof(*sums));
	if (count)
		qsort(intervals, count, sizeof(*intervals), compare_common);
	for (size_t from = 0, to; from < count; from = to) {
		to = end_of_row(intervals, from, count);
		add_up(sums, intervals, from, to);
		row_begin(rows, ROWS_HOLD);
		row_text(rows, "lock", rows->analysis->recording->strings[intervals[from].name]);
		row_stack(rows, "stack", intervals[from].stack);
		row_count(rows, "n", to - from);
		row_count(rows, "total_ns", sums->total_ns);
		row_histogram(rows, "hist", sums->bins);
		row_end(rows);
	}
	free(sums);
	free(intervals);
}
