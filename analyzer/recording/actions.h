/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The actions of one op, in order: it ran itself, started a child, waited.
 *
 * An iterator over a graph, without memory of its own, so that a list of millions costs nothing.
 * Self segments are the op's interval minus its children's and its waits' intervals. Actions come
 * by recorded time; at the same time self segments first, then children, then waits. A child that
 * runs beside the op (on another thread) covers nothing, and is started before the self segment
 * that goes on at its start.
 */
#ifndef WCPROF_ACTIONS_H
#define WCPROF_ACTIONS_H

#include "graph.h"

enum action_type { ACTION_SELF, ACTION_CHILD, ACTION_WAIT };

struct action {
	enum action_type type;
	uint32_t index; /* of the child (op) or the wait */
	uint64_t at_ns;
	uint64_t length_ns; /* of a self segment */
};

struct actions {
	const struct graph *graph;
	uint64_t end_ns;     /* of the op */
	uint64_t covered_ns; /* all before this is accounted for */
	uint32_t child;      /* next in graph->children */
	uint32_t child_end;
	uint32_t wait; /* next in graph->waits to look at */
	uint32_t wait_end;
	uint32_t held;    /* next in graph->waits to hand out, <= wait */
	bool is_released; /* hand out the waits up to `wait` now */
};

void actions_begin(struct actions *actions, const struct graph *graph, uint32_t op);

/* False at the end, with *action untouched. */
bool actions_next(struct actions *actions, struct action *action);

#endif
