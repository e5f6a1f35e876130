/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the graph of moments under a hypothesis; follow.h has the contract.
 *
 * Method. In the order in which the moments were recorded, each gets its new time from the one
 * before it and from its cause. That is the longest path through a graph without circles. The
 * unchanged run takes exactly as long as it was.
 */
#include "follow.h"

#include "base/memory.h"
#include "recording/recording.h"

#include <assert.h>
#include <stdlib.h>

struct scratch {
	double *at_ns;   /* by moment */
	double *factors; /* by scope */
};

static void *scratch_new(const struct replayer *replayer)
{
	const struct edges *edges = replayer->state;
	struct scratch *scratch = memory_new(1, sizeof(*scratch));

	scratch->at_ns = memory_new(edges->count, sizeof(*scratch->at_ns));
	scratch->factors = memory_new(edges->scopes.count, sizeof(*scratch->factors));
	return scratch;
}

static void scratch_free(void *pointer)
{
	struct scratch *scratch = pointer;

	free(scratch->at_ns);
	free(scratch->factors);
	free(scratch);
}

static bool is_of(const struct scopes *scopes, const struct scope *scope, uint32_t class)
{
	for (uint32_t i = 0; i < scope->count; i++)
		if (scopes->classes[scope->first + i] == class)
			return true;
	return scope->leaf == class;
}

static void set_factors(const struct edges *edges, const struct trial *trial, double *factors)
{
	for (size_t s = 0; s < edges->scopes.count; s++) {
		factors[s] = 1;
		for (size_t i = 0; i < trial->count; i++)
			if (is_of(&edges->scopes, &edges->scopes.scopes[s],
				  trial->scalings[i].class))
				factors[s] *= trial->scalings[i].factor;
	}
}

static double time_of(const struct edges *edges, size_t index, const struct scratch *scratch)
{
	const struct edge_moment *moment = &edges->moments[index];
	double factor = moment->scope == NO_INDEX ? 1 : scratch->factors[moment->scope];
	double at_ns = (double)moment->length_ns * factor;

	assert(moment->before == NO_INDEX || moment->before < index);
	if (moment->before != NO_INDEX)
		at_ns += scratch->at_ns[moment->before];
	if (moment->cause == NO_INDEX)
		return at_ns;
	double caused_ns = scratch->at_ns[moment->cause] + (double)moment->latency_ns;
	return caused_ns > at_ns ? caused_ns : at_ns;
}

static void run_one(const struct edges *edges, const struct trial *trial, struct scratch *scratch,
		    struct replay_answer *answer)
{
	*answer = (struct replay_answer){ .fallback_anchors = edges->lost_edges };
	set_factors(edges, trial, scratch->factors);
	for (size_t i = 0; i < edges->count; i++)
		scratch->at_ns[i] = time_of(edges, i, scratch);
	for (size_t t = 0; t < edges->thread_count; t++) {
		double finish_ns =
			edges->finish[t] == NO_INDEX ? 0 : scratch->at_ns[edges->finish[t]];

		if (finish_ns > answer->makespan_ns)
			answer->makespan_ns = finish_ns;
	}
}

static void run(const struct replayer *replayer, const struct trial *trials, size_t count,
		void *scratch, struct replay_answer *answers)
{
	for (size_t i = 0; i < count; i++)
		run_one(replayer->state, &trials[i], scratch, &answers[i]);
}

struct replayer follow_replayer(const struct edges *edges)
{
	return (struct replayer){ .state = edges,
				  .cost = edges->count,
				  .classes_at_once = 1,
				  .scratch_new = scratch_new,
				  .scratch_free = scratch_free,
				  .run = run };
}
