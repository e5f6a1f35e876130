/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the blocking chain; chain.h has the contract.
 */
#include "chain.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

static uint32_t last_root(const struct graph *graph)
{
	const struct rec_op *ops = graph->recording->ops;
	uint32_t last = NO_INDEX;
	for (uint32_t i = 0; i < graph->root_count; i++)
		if (last == NO_INDEX || ops[graph->roots[i]].end_ns > ops[last].end_ns)
			last = graph->roots[i];
	return last;
}

/* Takes `candidate` instead of `best` when it ends strictly later and is not in the chain yet. */
static uint32_t later_of(const struct graph *graph, const bool *is_taken, uint32_t best,
			 uint32_t candidate)
{
	const struct rec_op *ops = graph->recording->ops;
	if (candidate == NO_INDEX || is_taken[candidate])
		return best;
	if (best != NO_INDEX && ops[candidate].end_ns <= ops[best].end_ns)
		return best;
	return candidate;
}

static uint32_t next_op(const struct graph *graph, const bool *is_taken, uint32_t op)
{
	uint32_t next = NO_INDEX;
	for (uint32_t at = graph->first_child[op]; at < graph->first_child[op + 1]; at++)
		next = later_of(graph, is_taken, next, graph->children[at]);
	for (uint32_t at = graph->first_wait[op]; at < graph->first_wait[op + 1]; at++)
		next = later_of(graph, is_taken, next, graph->wait_target[graph->waits[at]]);
	return next;
}

void chain_build(struct chain *chain, const struct graph *graph, size_t depth_max)
{
	size_t room = 0;
	bool *is_taken = memory_new(graph->op_count, sizeof(*is_taken));
	*chain = (struct chain){ 0 };
	for (uint32_t op = last_root(graph); op != NO_INDEX && chain->op_count < depth_max;
	     op = next_op(graph, is_taken, op)) {
		assert(!is_taken[op]);
		is_taken[op] = true;
		chain->ops =
			memory_grow(chain->ops, &room, chain->op_count + 1, sizeof(*chain->ops));
		chain->ops[chain->op_count++] = op;
	}
	free(is_taken);
}

void chain_free(struct chain *chain)
{
	free(chain->ops);
	*chain = (struct chain){ 0 };
}
