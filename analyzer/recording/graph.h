/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relations in a recording: parents, children, waits, and the ops that waits were for.
 *
 * Built once from a recording that stays in place, read-only afterwards, so any thread may read it.
 * Lists are flat: the children of op i are children[first_child[i] .. first_child[i + 1]), and its
 * waits are found in the same way.
 *
 * Invariants (graph_is_valid): every op is exactly one op's child or a root. No op is its own
 * ancestor. Lists are ordered by start, then id. Every wait is in one op's list or an orphan.
 */
#ifndef WCPROF_GRAPH_H
#define WCPROF_GRAPH_H

#include "recording.h"

struct graph {
	const struct recording *recording;
	uint32_t op_count;
	uint32_t *parent;      /* op index or NO_INDEX; also through nested_client links */
	uint32_t *first_child; /* op_count + 1 offsets into children and ended */
	uint32_t *children;    /* op indexes by start, then id */
	uint32_t *ended;       /* the same children by end, then id */
	uint32_t *first_wait;  /* op_count + 1 offsets into waits */
	uint32_t *waits;       /* wait indexes by start, then as recorded */
	uint32_t *wait_target; /* per wait: op index or NO_INDEX; also by the ident of an exec */
	uint32_t *roots;       /* op indexes by start, then id */
	uint32_t root_count;
	uint64_t start_ns;       /* of the op that starts first */
	uint64_t end_ns;         /* of the op that ends last */
	uint64_t orphan_waits;   /* waits of no known op */
	uint64_t nested_parents; /* ops whose parent came from a nested_client link */
	uint64_t exec_targets;   /* waits whose target came from the ident of an exec */
	uint64_t cut_parents;    /* nested_client links not followed: they would close a circle */
};

void graph_build(struct graph *graph, const struct recording *recording);
void graph_free(struct graph *graph);

/* Walks everything. For tests and debug builds. */
bool graph_is_valid(const struct graph *graph);

/*
 * Whether an op runs beside its parent: on another thread. It then takes nothing from its parent's
 * self time, and its parent does not stop for it before its own end. Never in dumps without
 * threads.
 */
static inline bool graph_is_beside(const struct graph *graph, uint32_t op)
{
	const struct rec_op *ops = graph->recording->ops;
	uint32_t parent = graph->parent[op];
	if (parent == NO_INDEX || ops[op].thread == NO_INDEX || ops[parent].thread == NO_INDEX)
		return false;
	return ops[op].thread != ops[parent].thread;
}

#endif
