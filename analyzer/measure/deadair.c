/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds dead air; deadair.h has the contract.
 *
 * An op within its parent's interval adds nothing to the union of all intervals. So only roots and
 * the few ops that stick out of their parents are sorted and swept.
 */
#include "deadair.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

static bool op_sticks_out(const struct graph *graph, uint32_t op)
{
	const struct rec_op *ops = graph->recording->ops;
	uint32_t parent = graph->parent[op];
	return parent == NO_INDEX || ops[op].start_ns < ops[parent].start_ns ||
	       ops[op].end_ns > ops[parent].end_ns;
}

static int compare_starts(const void *a, const void *b, void *context)
{
	const struct rec_op *ops = context;
	uint64_t left = ops[*(const uint32_t *)a].start_ns,
		 right = ops[*(const uint32_t *)b].start_ns;
	return (left > right) - (left < right);
}

static uint32_t *ops_that_count(const struct graph *graph, size_t *count)
{
	uint32_t *list = NULL;
	size_t room = 0;
	*count = 0;
	for (uint32_t i = 0; i < graph->op_count; i++) {
		if (!op_sticks_out(graph, i))
			continue;
		list = memory_grow(list, &room, *count + 1, sizeof(*list));
		list[(*count)++] = i;
	}
	if (*count > 1)
		qsort_r(list, *count, sizeof(*list), compare_starts, graph->recording->ops);
	return list;
}

void deadair_build(struct deadair *deadair, const struct graph *graph, uint64_t min_ns)
{
	size_t count, room = 0;
	uint64_t busy_until_ns = graph->start_ns;
	uint32_t *list = ops_that_count(graph, &count);
	*deadair = (struct deadair){ 0 };
	for (size_t i = 0; i < count; i++) {
		const struct rec_op *op = &graph->recording->ops[list[i]];
		if (op->start_ns > busy_until_ns && op->start_ns - busy_until_ns >= min_ns) {
			deadair->gaps = memory_grow(deadair->gaps, &room, deadair->gap_count + 1,
						    sizeof(*deadair->gaps));
			deadair->gaps[deadair->gap_count++] =
				(struct gap){ busy_until_ns - graph->start_ns,
					      op->start_ns - graph->start_ns };
			deadair->total_ns += op->start_ns - busy_until_ns;
		}
		if (op->end_ns > busy_until_ns)
			busy_until_ns = op->end_ns;
	}
	assert(graph->op_count == 0 || busy_until_ns == graph->end_ns);
	free(list);
}

void deadair_free(struct deadair *deadair)
{
	free(deadair->gaps);
	*deadair = (struct deadair){ 0 };
}
