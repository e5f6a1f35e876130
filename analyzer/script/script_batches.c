/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: where a take takes all that is there, the work after it is the longer the more that is.
 *
 * Method. Least squares fits cost = fixed + items * each for every scope that runs or waits between
 * such a take and the next one. In the replay each step of the scope scales with the cost of the
 * items taken then, over that of the recorded ones.
 *
 * Neither part is below 0. A scope that seems to need less for more items has each = 0. One that
 * seems to save time on none has fixed = 0. If all batches had one size the fit is impossible:
 * scopes with a step per item get fixed = 0, others each = 0.
 *
 * One thread.
 */
#include "base/memory.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>

bool script_is_batched(const struct script *script, uint32_t source)
{
	return source < script->monitors.condition_count &&
	       script->monitors.conditions[source].model == PUT_BATCH;
}

/* Runs of one place are told apart by their length, which here is to be explained. */
static uint32_t whole_scope(const struct script *script, uint32_t scope)
{
	const struct scope *scopes = script->scopes.scopes;
	uint32_t parent = scopes[scope].parent;

	return parent != NO_INDEX && scopes[parent].place ? parent : scope;
}

/* Of a scope, over all takes. */
struct sums {
	double ns;
	double items_times_ns;
	uint64_t steps;
};

/* Of one source, or of the turns of one group. */
struct batches {
	const struct script *script;
	enum step_type end_type; /* of the step that ends a job, with this operand */
	uint32_t end_arg;
	struct sums *by_scope;
	double *job_ns; /* by scope, of the job that is being looked at */
	double count;
	double items;
	double items_squared;
};

/* All up to the next take from the same source, or the turn's end, or the thread's. */
static void add_job(struct batches *batches, uint32_t first_step, uint32_t items)
{
	const struct script *script = batches->script;
	const struct step *first = &script->steps[first_step], *end = first;

	for (; end->type != STEP_END &&
	       !(end->type == batches->end_type && end->arg == batches->end_arg);
	     end++) {
		if (end->type != STEP_RUN && end->type != STEP_DELAY && end->type != STEP_OVERRUN)
			continue;
		uint32_t scope = whole_scope(script, end->arg);

		batches->job_ns[scope] += (double)end->ns;
		batches->by_scope[scope].steps++;
	}
	for (const struct step *step = first; step < end; step++) {
		if (step->type != STEP_RUN && step->type != STEP_DELAY &&
		    step->type != STEP_OVERRUN)
			continue;
		uint32_t scope = whole_scope(script, step->arg);
		struct sums *sums = &batches->by_scope[scope];

		sums->ns += batches->job_ns[scope];
		sums->items_times_ns += items * batches->job_ns[scope];
		batches->job_ns[scope] = 0;
	}
	batches->count++;
	batches->items += items;
	batches->items_squared += (double)items * items;
}

static struct batch_cost cost_of(const struct batches *batches, const struct sums *sums)
{
	assert(batches->count > 0);
	double spread = batches->count * batches->items_squared - batches->items * batches->items;
	struct batch_cost cost = { .fixed_ns = sums->ns / batches->count };

	if (spread <= 0) {
		if ((double)sums->steps >= batches->items && batches->items > 0)
			cost = (struct batch_cost){ .item_ns = sums->ns / batches->items };
		return cost;
	}
	double item_ns =
		(batches->count * sums->items_times_ns - batches->items * sums->ns) / spread;
	double fixed_ns = (sums->ns - item_ns * batches->items) / batches->count;

	if (item_ns <= 0)
		return cost;
	if (fixed_ns < 0)
		return (struct batch_cost){ .item_ns = sums->ns / batches->items };
	return (struct batch_cost){ fixed_ns, item_ns };
}

void script_batches_cost(const struct script *script, struct job_list *jobs,
			 enum step_type end_type, uint32_t end_arg)
{
	size_t scopes = script->scopes.count;
	struct batches batches = { .script = script, .end_type = end_type, .end_arg = end_arg };

	batches.by_scope = memory_new(scopes, sizeof(*batches.by_scope));
	batches.job_ns = memory_new(scopes, sizeof(*batches.job_ns));
	for (size_t i = 0; i < jobs->count; i++)
		add_job(&batches, jobs->steps[i], jobs->items[i]);
	jobs->cost_of = memory_new(scopes, sizeof(*jobs->cost_of));
	for (size_t i = 0; jobs->count && i < scopes; i++)
		jobs->cost_of[i] =
			cost_of(&batches, &batches.by_scope[whole_scope(script, (uint32_t)i)]);
	free(batches.by_scope);
	free(batches.job_ns);
}

/* How many each job took: the takes are in the order of their sources' jobs. */
static void note_items(struct compiler *compiler)
{
	struct script *script = compiler->script;

	for (size_t i = 0, number = 0; i < compiler->gathered.taken_count; i++) {
		const struct taken *taken = &compiler->gathered.taken[i];
		struct job_list *jobs = &script->jobs[taken->source];

		if (!i || taken->source != compiler->gathered.taken[i - 1].source)
			number = 0;
		if (!script_is_batched(script, taken->source))
			continue;
		if (!jobs->items)
			jobs->items = memory_new(jobs->count, sizeof(*jobs->items));
		if (number < jobs->count && jobs->steps[number] == taken->step)
			jobs->items[number++] = taken->items;
	}
}

void script_batches_find(struct compiler *compiler)
{
	struct script *script = compiler->script;

	note_items(compiler);
	for (uint32_t source = 0; source < script->monitors.condition_count; source++)
		if (script->jobs[source].items)
			script_batches_cost(script, &script->jobs[source], STEP_TAKE, source);
}
