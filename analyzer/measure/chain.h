/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocking chain: from the root that ends last, each time on to what it waited for longest.
 *
 * From an op the chain goes to the child or wait target that ends latest, children before wait
 * targets, and never to an op twice. Only what has the recording's word for it is followed, no
 * replay.
 */
#ifndef WCPROF_CHAIN_H
#define WCPROF_CHAIN_H

#include "recording/graph.h"

struct chain {
	uint32_t *ops; /* op indexes, the root first */
	size_t op_count;
};

void chain_build(struct chain *chain, const struct graph *graph, size_t depth_max);
void chain_free(struct chain *chain);

#endif
