/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which call ended a direction of a connection; flows_ends.h has the contract.
 *
 * Method. A read that gets nothing, and does not fail, has found the end. The first shutdown of the
 * other side's socket made the end, or the last close of it. It comes after all writes, in
 * the process of the last one: other processes may have a copy.
 *
 * One thread.
 */
#include "flows_ends.h"

#include "base/memory.h"
#include "format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum ending_sort { ENDING_CLOSE, ENDING_SHUTDOWN, ENDING_FOUND };

struct ending {
	uint64_t at_ns; /* its beginning; of what found the end, its return */
	uint32_t flow;
	uint32_t op;
	enum ending_sort sort;
};

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* False: the call ends nothing, and finds no end. */
static bool ending_of(const struct recording *rec, uint32_t index, struct ending *ending)
{
	const struct rec_op *op = &rec->ops[index];
	const char *call = rec->strings[op->name];
	bool reads = begins_with(call, "read") || begins_with(call, "recv");

	if (op->kind != KIND_IO || !op->ident || op->thread == NO_INDEX || rec->extras[index].open)
		return false;
	if (!reads && !begins_with(call, "close") && !begins_with(call, "shutdown"))
		return false;
	if (reads && (rec->extras[index].amount || op->outcome == OUTCOME_ERROR))
		return false;
	ending->op = index;
	ending->at_ns = reads ? op->end_ns : op->start_ns;
	ending->sort = reads                        ? ENDING_FOUND
		       : begins_with(call, "close") ? ENDING_CLOSE
						    : ENDING_SHUTDOWN;
	return !flow_is_pipe(rec->strings[op->ident]);
}

static int compare_endings(const void *left, const void *right)
{
	const struct ending *a = left, *b = right;

	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

void flow_ends_collect(struct flow_ends *ends, const struct recording *rec,
		       const struct flow_names *streams, const struct addresses *names)
{
	struct ending ending;

	*ends = (struct flow_ends){ 0 };
	for (uint32_t i = 0; i < rec->op_count; i++) {
		if (!ending_of(rec, i, &ending))
			continue;
		uint64_t name =
			flow_names_stream(streams, rec->ops[i].ident, ending.sort != ENDING_FOUND);
		ending.flow = name ? addresses_find(names, 0, name) : NO_INDEX;
		if (ending.flow == NO_INDEX)
			continue;
		ends->list =
			memory_grow(ends->list, &ends->room, ends->count + 1, sizeof(*ends->list));
		ends->list[ends->count++] = ending;
	}
	if (ends->count)
		qsort(ends->list, ends->count, sizeof(*ends->list), compare_endings);
}

void flow_ends_free(struct flow_ends *ends)
{
	free(ends->list);
	*ends = (struct flow_ends){ 0 };
}

static size_t first_of(const struct flow_ends *ends, uint32_t flow)
{
	size_t low = 0, high = ends->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ends->list[middle].flow < flow)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t process_of(const struct recording *rec, uint32_t op)
{
	return rec->threads[rec->ops[op].thread].process;
}

static const struct side *last_write(const struct side *sides, size_t count)
{
	while (count && !sides[count - 1].is_write)
		count--;
	return count ? &sides[count - 1] : NULL;
}

bool flow_end_find(const struct flow_ends *ends, const struct recording *rec,
		   const struct side *sides, size_t count, uint32_t *closed, uint32_t *found)
{
	assert(count > 0);
	const struct side *written = last_write(sides, count);
	enum ending_sort sort = ENDING_CLOSE;

	*closed = *found = NO_INDEX;
	for (size_t i = first_of(ends, sides->flow);
	     written && i < ends->count && ends->list[i].flow == sides->flow; i++) {
		const struct ending *ending = &ends->list[i];

		bool is_found = ending->sort == ENDING_FOUND;

		if (ending->at_ns < (is_found ? sides[count - 1].at_ns : written->at_ns))
			continue;
		if (is_found && *closed != NO_INDEX) {
			*found = ending->op;
			return true;
		}
		if (is_found || sort == ENDING_SHUTDOWN ||
		    process_of(rec, ending->op) != process_of(rec, written->op))
			continue;
		sort = ending->sort;
		*closed = ending->op;
	}
	return false;
}
