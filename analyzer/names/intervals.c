/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nested ranges by one sort and one sweep.
 *
 * Rows are ordered by start, longer ones first. The sweep keeps a stack of rows that still reach
 * over the present start; each row's `outer` is the top of that stack. Every row that contains an
 * address therefore lies on the outer chain of the last row that starts at or before it. That holds
 * also where ranges overlap without nesting: a row leaves the stack only when it ends before
 * everything that follows.
 *
 * One thread. Must never allocate or change anything while searching.
 */
#include "intervals.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "recording/recording.h"

void intervals_add(struct intervals *intervals, uint64_t start, uint64_t end, uint32_t value)
{
	struct interval row = { .start = start, .end = end, .value = value, .outer = NO_INDEX };

	assert(intervals->count < NO_INDEX);
	if (start >= end)
		return;
	intervals->rows = memory_grow(intervals->rows, &intervals->room, intervals->count + 1,
				      sizeof(*intervals->rows));
	intervals->rows[intervals->count++] = row;
}

/* `outer` holds the order of adding here, so that equal ranges keep it. */
static int compare(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (a->outer > b->outer) - (a->outer < b->outer);
}

void intervals_index(struct intervals *intervals)
{
	uint32_t top = NO_INDEX;

	for (size_t i = 0; i < intervals->count; i++)
		intervals->rows[i].outer = (uint32_t)i;
	if (intervals->count > 1)
		qsort(intervals->rows, intervals->count, sizeof(*intervals->rows), compare);
	for (size_t i = 0; i < intervals->count; i++) {
		while (top != NO_INDEX && intervals->rows[top].end <= intervals->rows[i].start)
			top = intervals->rows[top].outer;
		intervals->rows[i].outer = top;
		top = (uint32_t)i;
	}
}

uint32_t intervals_outer(const struct intervals *intervals, uint32_t row, uint64_t address)
{
	assert(row < intervals->count);
	do
		row = intervals->rows[row].outer;
	while (row != NO_INDEX && intervals->rows[row].end <= address);
	return row;
}

uint32_t intervals_find(const struct intervals *intervals, uint64_t address)
{
	size_t low = 0, high = intervals->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (intervals->rows[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NO_INDEX;
	if (intervals->rows[low - 1].end > address)
		return (uint32_t)(low - 1);
	return intervals_outer(intervals, (uint32_t)(low - 1), address);
}

void intervals_free(struct intervals *intervals)
{
	free(intervals->rows);
	*intervals = (struct intervals){ 0 };
}
