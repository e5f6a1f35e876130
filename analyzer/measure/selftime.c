/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self times and their distribution; selftime.h has the contract.
 *
 * One walk over each op's actions, then one over each class's ops. An op is an execution if its
 * outcome is `executed` or its kind `call_exec`. An execution counts as a duplicate when an op of
 * the same class and ident was executed before.
 */
#include "selftime.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "recording/actions.h"

enum { OUTCOMES_MAX = 256 }; /* rec_op.outcome has 8 bits */

_Static_assert(sizeof(((struct rec_op *)0)->outcome) == 1, "OUTCOMES_MAX covers every outcome");

/* The parts of every op that go into its class's figures, class by class. */
struct sample_list {
	uint64_t *self_ns;
	uint32_t *idents; /* of executions; 0 = no execution, or of nothing said */
	uint8_t *outcomes;
	uint32_t *first; /* per class, and one more */
};

struct summary {
	struct sample_list samples;
	struct selftime *selftime;
	size_t outcome_room;
	size_t outcome_count;
};

static uint64_t op_self_ns(const struct graph *graph, uint32_t op)
{
	struct actions actions;
	struct action action;
	uint64_t self_ns = 0;
	if (graph->first_child[op] == graph->first_child[op + 1] &&
	    graph->first_wait[op] == graph->first_wait[op + 1])
		return graph->recording->ops[op].end_ns - graph->recording->ops[op].start_ns;
	actions_begin(&actions, graph, op);
	while (actions_next(&actions, &action))
		if (action.type == ACTION_SELF)
			self_ns += action.length_ns;
	return self_ns;
}

static int compare_idents(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	return (left > right) - (left < right);
}

static bool op_is_execution(const struct rec_op *op)
{
	return op->outcome == OUTCOME_EXECUTED || op->kind == KIND_CALL_EXEC;
}

/* One pass over the ops in their order: self times, and all samples sorted by class. */
static void samples_fill(struct summary *summary, const struct graph *graph,
			 const struct class_table *classes)
{
	struct sample_list *samples = &summary->samples;
	struct selftime *selftime = summary->selftime;
	samples->self_ns = memory_new(graph->op_count, sizeof(*samples->self_ns));
	samples->idents = memory_new(graph->op_count, sizeof(*samples->idents));
	samples->outcomes = memory_new(graph->op_count, sizeof(*samples->outcomes));
	samples->first = memory_new((size_t)classes->count + 1, sizeof(*samples->first));
	for (uint32_t i = 0; i < classes->count; i++)
		samples->first[i + 1] = samples->first[i] + classes->classes[i].op_count;
	assert(samples->first[classes->count] == graph->op_count);

	uint32_t *next = memory_new(classes->count, sizeof(*next));
	memcpy(next, samples->first, classes->count * sizeof(*next));
	for (uint32_t i = 0; i < graph->op_count; i++) {
		const struct rec_op *op = &graph->recording->ops[i];
		uint32_t class = classes->of_op[i], at = next[class]++;
		selftime->self_ns[i] = samples->self_ns[at] = op_self_ns(graph, i);
		samples->idents[at] = op_is_execution(op) ? op->ident : 0;
		samples->outcomes[at] = op->outcome;
		selftime->classes[class].total_wall_ns += op->end_ns - op->start_ns;
	}
	free(next);
}

static void samples_free(struct sample_list *samples)
{
	free(samples->self_ns);
	free(samples->idents);
	free(samples->outcomes);
	free(samples->first);
}

/* Reorders the list. */
static uint64_t count_duplicates(uint32_t *idents, size_t count)
{
	size_t said = 0, distinct = 0;
	for (size_t i = 0; i < count; i++)
		if (idents[i] != 0)
			idents[said++] = idents[i];
	qsort(idents, said, sizeof(*idents), compare_idents);
	for (size_t i = 0; i < said; i++)
		distinct += i == 0 || idents[i] != idents[i - 1];
	return said - distinct;
}

static void class_outcomes(struct summary *summary, uint32_t class)
{
	struct selftime *selftime = summary->selftime;
	uint32_t counts[OUTCOMES_MAX] = { 0 };
	for (uint32_t at = summary->samples.first[class]; at < summary->samples.first[class + 1];
	     at++)
		counts[summary->samples.outcomes[at]]++;
	selftime->classes[class].first_outcome = (uint32_t)summary->outcome_count;
	for (uint32_t outcome = 0; outcome < OUTCOMES_MAX; outcome++) {
		if (counts[outcome] == 0)
			continue;
		selftime->outcomes =
			memory_grow(selftime->outcomes, &summary->outcome_room,
				    summary->outcome_count + 1, sizeof(*selftime->outcomes));
		selftime->outcomes[summary->outcome_count++] =
			(struct outcome_count){ outcome, counts[outcome] };
	}
}

static void class_summarize(struct summary *summary, uint32_t class)
{
	struct class_times *times = &summary->selftime->classes[class];
	uint32_t first = summary->samples.first[class],
		 count = summary->samples.first[class + 1] - first;
	times->self = percentiles_of(summary->samples.self_ns + first, count);
	times->duplicate_executions = count_duplicates(summary->samples.idents + first, count);
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

void selftime_build(struct selftime *selftime, const struct graph *graph,
		    const struct class_table *classes)
{
	struct summary summary = { .selftime = selftime };
	*selftime = (struct selftime){
		.self_ns = memory_new(graph->op_count, sizeof(*selftime->self_ns)),
		.classes = memory_new((size_t)classes->count + 1, sizeof(*selftime->classes)),
		.by_total = memory_new(classes->count, sizeof(*selftime->by_total)),
	};
	samples_fill(&summary, graph, classes);
	for (uint32_t i = 0; i < classes->count; i++) {
		class_summarize(&summary, i);
		selftime->by_total[i] = i;
	}
	selftime->classes[classes->count].first_outcome = (uint32_t)summary.outcome_count;
	samples_free(&summary.samples);
	qsort_r(selftime->by_total, classes->count, sizeof(*selftime->by_total), compare_totals,
		selftime);
}

void selftime_free(struct selftime *selftime)
{
	free(selftime->self_ns);
	free(selftime->classes);
	free(selftime->outcomes);
	free(selftime->by_total);
	*selftime = (struct selftime){ 0 };
}
