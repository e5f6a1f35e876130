/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One op's actions in the order of time: a merge of its children and waits.
 *
 * Children and waits are merged by start, and the gap before each is a self segment. A segment
 * carries the time at which it begins. So a wait of no length at that very time comes after it, and
 * is held back until it is known whether a segment follows. Reads only.
 */
#include "actions.h"

#include <assert.h>

void actions_begin(struct actions *actions, const struct graph *graph, uint32_t op)
{
	assert(op < graph->op_count);
	*actions = (struct actions){
		.graph = graph,
		.end_ns = graph->recording->ops[op].end_ns,
		.covered_ns = graph->recording->ops[op].start_ns,
		.child = graph->first_child[op],
		.child_end = graph->first_child[op + 1],
		.wait = graph->first_wait[op],
		.wait_end = graph->first_wait[op + 1],
		.held = graph->first_wait[op],
	};
}

static uint64_t next_child_ns(const struct actions *actions)
{
	if (actions->child == actions->child_end)
		return UINT64_MAX;
	return actions->graph->recording->ops[actions->graph->children[actions->child]].start_ns;
}

static uint64_t next_wait_ns(const struct actions *actions)
{
	if (actions->wait == actions->wait_end)
		return UINT64_MAX;
	return actions->graph->recording->waits[actions->graph->waits[actions->wait]].start_ns;
}

static void cover_until(struct actions *actions, uint64_t until_ns)
{
	if (until_ns > actions->covered_ns)
		actions->covered_ns = until_ns;
}

static void take_segment(struct actions *actions, struct action *action, uint64_t until_ns)
{
	assert(actions->covered_ns < until_ns);
	*action = (struct action){ ACTION_SELF, NO_INDEX, actions->covered_ns,
				   until_ns - actions->covered_ns };
	actions->covered_ns = until_ns;
	actions->is_released = true;
}

static void take_child(struct actions *actions, struct action *action)
{
	uint32_t child = actions->graph->children[actions->child++];
	const struct rec_op *op = &actions->graph->recording->ops[child];
	cover_until(actions, graph_is_beside(actions->graph, child) ? op->start_ns : op->end_ns);
	*action = (struct action){ ACTION_CHILD, child, op->start_ns, 0 };
}

static void take_held_wait(struct actions *actions, struct action *action)
{
	uint32_t wait = actions->graph->waits[actions->held++];
	*action = (struct action){ ACTION_WAIT, wait,
				   actions->graph->recording->waits[wait].start_ns, 0 };
	if (actions->held == actions->wait)
		actions->is_released = false;
}

/* Looks at the next wait: one that could come after a segment of the same time stays held back. */
static void look_at_wait(struct actions *actions)
{
	const struct rec_wait *wait =
		&actions->graph->recording->waits[actions->graph->waits[actions->wait++]];
	bool may_follow_segment = wait->end_ns <= actions->covered_ns &&
				  wait->start_ns == actions->covered_ns &&
				  actions->covered_ns < actions->end_ns;
	cover_until(actions, wait->end_ns);
	if (!may_follow_segment)
		actions->is_released = true;
}

bool actions_next(struct actions *actions, struct action *action)
{
	for (;;) {
		if (actions->is_released && actions->held < actions->wait) {
			take_held_wait(actions, action);
			return true;
		}
		actions->is_released = false;
		uint64_t child_ns = next_child_ns(actions), wait_ns = next_wait_ns(actions);
		uint64_t next_ns = child_ns <= wait_ns ? child_ns : wait_ns;
		uint64_t until_ns = next_ns < actions->end_ns ? next_ns : actions->end_ns;
		if (actions->covered_ns < until_ns) {
			take_segment(actions, action, until_ns);
			return true;
		}
		if (actions->wait < actions->wait_end && wait_ns < child_ns) {
			look_at_wait(actions);
		} else if (actions->held < actions->wait) {
			actions->is_released = true;
		} else if (actions->child < actions->child_end) {
			take_child(actions, action);
			return true;
		} else if (actions->wait < actions->wait_end) {
			look_at_wait(actions);
		} else {
			return false;
		}
	}
}
