/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self times and their distribution; selftime.h has the contract.
 *
 * One walk over each op's actions, then one over each class's ops. An execution counts as a duplicate
 * when an op of the same class and ident was executed already: with outcome `executed`, or of kind
 * `call_exec`, which is an execution by its nature.
 */
#include "selftime.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actions.h"
#include "format.h"
#include "memory.h"

enum { OUTCOMES_MAX = 256 }; /* rec_op.outcome has 8 bits */

_Static_assert(sizeof(((struct rec_op *)0)->outcome) == 1, "OUTCOMES_MAX covers every outcome");

/* What one pass over the classes needs besides its result. */
struct summary {
	const struct graph *graph;
	const struct class_table *classes;
	struct selftime *selftime;
	uint64_t *values;        /* room for the largest class */
	size_t outcome_room;
	size_t outcome_count;
};

static uint64_t op_self_ns(const struct graph *graph, uint32_t op)
{
	struct actions actions;
	struct action action;
	uint64_t self_ns = 0;
	actions_begin(&actions, graph, op);
	while (actions_next(&actions, &action))
		if (action.type == ACTION_SELF)
			self_ns += action.length_ns;
	return self_ns;
}

static int compare_values(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static bool op_is_execution(const struct rec_op *op)
{
	return op->ident != 0 && (op->outcome == OUTCOME_EXECUTED || op->kind == KIND_CALL_EXEC);
}

static uint64_t class_duplicates(const struct summary *summary, uint32_t class)
{
	const struct class_table *classes = summary->classes;
	uint64_t *idents = summary->values;
	size_t count = 0, distinct = 0;
	for (uint32_t at = classes->first_op[class]; at < classes->first_op[class + 1]; at++) {
		const struct rec_op *op = &summary->graph->recording->ops[classes->ops[at]];
		if (op_is_execution(op))
			idents[count++] = op->ident;
	}
	if (count < 2)
		return 0;
	qsort(idents, count, sizeof(*idents), compare_values);
	for (size_t i = 0; i < count; i++)
		distinct += i == 0 || idents[i] != idents[i - 1];
	return count - distinct;
}

static void class_outcomes(struct summary *summary, uint32_t class)
{
	const struct class_table *classes = summary->classes;
	struct selftime *selftime = summary->selftime;
	uint32_t counts[OUTCOMES_MAX] = { 0 };
	for (uint32_t at = classes->first_op[class]; at < classes->first_op[class + 1]; at++)
		counts[summary->graph->recording->ops[classes->ops[at]].outcome]++;
	selftime->classes[class].first_outcome = (uint32_t)summary->outcome_count;
	for (uint32_t outcome = 0; outcome < OUTCOMES_MAX; outcome++) {
		if (counts[outcome] == 0)
			continue;
		selftime->outcomes = memory_grow(selftime->outcomes, &summary->outcome_room,
		                                 summary->outcome_count + 1, sizeof(*selftime->outcomes));
		selftime->outcomes[summary->outcome_count++] = (struct outcome_count){ outcome, counts[outcome] };
	}
}

static void class_summarize(struct summary *summary, uint32_t class)
{
	const struct class_table *classes = summary->classes;
	struct class_times *times = &summary->selftime->classes[class];
	size_t count = 0;
	for (uint32_t at = classes->first_op[class]; at < classes->first_op[class + 1]; at++) {
		const struct rec_op *op = &summary->graph->recording->ops[classes->ops[at]];
		summary->values[count++] = summary->selftime->self_ns[classes->ops[at]];
		times->total_wall_ns += op->end_ns - op->start_ns;
	}
	times->self = percentiles_of(summary->values, count);
	times->duplicate_executions = class_duplicates(summary, class);
	class_outcomes(summary, class);
}

/* Largest total first; of equals the one that was seen first. */
static int compare_totals(const void *a, const void *b, void *context)
{
	const struct selftime *selftime = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	uint64_t left_ns = selftime->classes[left].self.total_ns;
	uint64_t right_ns = selftime->classes[right].self.total_ns;
	if (left_ns != right_ns)
		return left_ns < right_ns ? 1 : -1;
	return (left > right) - (left < right);
}

void selftime_build(struct selftime *selftime, const struct graph *graph, const struct class_table *classes)
{
	*selftime = (struct selftime){
		.self_ns = memory_new(graph->op_count, sizeof(*selftime->self_ns)),
		.classes = memory_new((size_t)classes->count + 1, sizeof(*selftime->classes)),
		.by_total = memory_new(classes->count, sizeof(*selftime->by_total)),
	};
	for (uint32_t i = 0; i < graph->op_count; i++)
		selftime->self_ns[i] = op_self_ns(graph, i);

	uint32_t largest = 0;
	for (uint32_t i = 0; i < classes->count; i++)
		if (classes->classes[i].op_count > largest)
			largest = classes->classes[i].op_count;
	struct summary summary = {
		.graph = graph,
		.classes = classes,
		.selftime = selftime,
		.values = memory_new(largest, sizeof(*summary.values)),
	};
	for (uint32_t i = 0; i < classes->count; i++) {
		class_summarize(&summary, i);
		selftime->by_total[i] = i;
	}
	selftime->classes[classes->count].first_outcome = (uint32_t)summary.outcome_count;
	free(summary.values);
	qsort_r(selftime->by_total, classes->count, sizeof(*selftime->by_total), compare_totals, selftime);
}

void selftime_free(struct selftime *selftime)
{
	free(selftime->self_ns);
	free(selftime->classes);
	free(selftime->outcomes);
	free(selftime->by_total);
	*selftime = (struct selftime){ 0 };
}
