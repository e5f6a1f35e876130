/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a script: first the tables that all threads need, then thread by thread, then the rest.
 *
 * The rest is what only the whole shows: CPU times, pools, usual latencies, and whose finish is the
 * makespan. The script is valid (script_valid.h) when it is there. One thread.
 */
#include "script.h"

#include "base/assumptions.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "format.h"
#include "infer/leftover.h"
#include "recording/addresses.h"
#include "script_parts.h"
#include "script_valid.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void actors_prepare(struct script *script, const struct recording *rec,
			   const struct timeline *timeline)
{
	script->actor_count = rec->thread_count;
	script->actors = memory_new(rec->thread_count, sizeof(*script->actors));
	script->start_ns = UINT64_MAX;
	for (size_t t = 0; t < rec->thread_count; t++) {
		struct actor *actor = &script->actors[t];
		uint32_t op = rec->threads[t].op;
		size_t first = timeline->first[t];

		actor->last_body = actor->take_step = NO_INDEX;
		actor->weight = rec->threads[t].weight
					? (double)rec->threads[t].weight / REC_WEIGHT_PLAIN
					: 1.0;
		if (op != NO_INDEX)
			actor->start_ns = rec->ops[op].start_ns;
		else if (first < timeline->first[t + 1])
			actor->start_ns = timeline->moments[first].at_ns;
		else
			continue;
		if (actor->start_ns < script->start_ns)
			script->start_ns = actor->start_ns;
	}
	if (script->start_ns == UINT64_MAX)
		script->start_ns = 0;
}

static bool *awaited_links(const struct monitors *monitors, const struct recording *rec)
{
	bool *is_awaited = memory_new(rec->link_count, sizeof(*is_awaited));

	for (size_t i = 0; i < rec->link_count; i++)
		is_awaited[i] = monitors->signals[i].condition != NO_INDEX;
	for (size_t i = 0; i < rec->wait_count; i++)
		if (monitors->waking_link[i] != NO_INDEX)
			is_awaited[monitors->waking_link[i]] = true;
	return is_awaited;
}

static void fill_latencies(struct compiler *compiler)
{
	struct script *script = compiler->script;
	struct gathered *gathered = &compiler->gathered;

	if (gathered->latency_count)
		script->lock_latency_ns =
			percentile_select(gathered->latencies_ns, gathered->latency_count,
					  gathered->latency_count / 2);
	/* For waits that the recording does not have: no reason to take a busy moment's for
	 * them. */
	if (script->lock_latency_ns > assume.wake_up)
		script->lock_latency_ns = assume.wake_up;
	for (size_t i = 0; i < script->step_count; i++) {
		struct step *step = &script->steps[i];

		if (step->ns == LATENCY_UNKNOWN)
			step->ns = script->lock_latency_ns;
		bool is_wake_up =
			script_contract((enum step_type)step->type)->number == NUMBER_LATENCY;

		if (script->made_crowd && is_wake_up && step->ns > assume.wake_up)
			step->ns = assume.wake_up;
	}
}

static void found_build(struct found *found, struct script *script, const struct recording *rec,
			const struct timeline *timeline)
{
	*found = (struct found){ 0 };
	found->is_awaited = awaited_links(&script->monitors, rec);
	found->barrier_latency_ns = script_barriers_find(script, rec, &found->barriers);
	found->permit_latency_ns = script_semaphores_find(script, rec, &found->semaphores);
	found->adoptions =
		script_adoptions_find(rec, timeline, script->actors, &found->adoption_count);
	script_declared_find(found, rec);
	script_ends_find(found, rec);
}

static void found_free(struct found *found)
{
	addresses_free(&found->semaphores);
	addresses_free(&found->barriers);
	free(found->is_awaited);
	free(found->barrier_latency_ns);
	free(found->permit_latency_ns);
	free(found->adoptions);
	free(found->pipe_users);
	free(found->worker_of);
}

static void gathered_free(struct gathered *gathered)
{
	script_runs_free(&gathered->runs);
	script_places_free(&gathered->places);
	free(gathered->latencies_ns);
	free(gathered->taken);
	free(gathered->finish_ns);
	free(gathered->worked);
}

static void jobs_prepare(struct script *script)
{
	script->source_count = script->monitors.condition_count + script->flows.flow_count +
			       script->semaphore_count;
	script->jobs = memory_new(script->source_count, sizeof(*script->jobs));
	for (size_t i = 0; i < script->source_count; i++)
		script->jobs[i].lock = NO_INDEX;
}

static void compile_threads(struct compiler *compiler, const struct stack_functions *functions)
{
	const struct recording *rec = compiler->rec;
	struct gathered *gathered = &compiler->gathered;

	gathered->finish_ns = memory_new(rec->thread_count, sizeof(*gathered->finish_ns));
	gathered->worked = memory_new(rec->thread_count, sizeof(*gathered->worked));
	script_places_begin(&gathered->places, rec, functions && functions->first);
	for (uint32_t t = 0; t < rec->thread_count; t++)
		script_compile_thread(compiler, t);
}

/* From all threads' steps: how long each is, whose the jobs are, whose finish counts. */
static void complete(struct compiler *compiler, const struct stack_functions *functions)
{
	struct script *script = compiler->script;
	struct gathered *gathered = &compiler->gathered;

	script->sleep_run_ns = script_runs_sleep_ns(&gathered->runs);
	script_runs_cut(&gathered->runs, script->steps, script->sleep_run_ns);
	script_wakes_find(script);
	script_places_split(&gathered->places, script);
	script_pools_find(compiler);
	fill_latencies(compiler);
	script_choose_finishers(script, compiler);
	if (gathered->places.step_of_sample)
		shares_build(&script->shares, compiler->rec, functions, &script->scopes,
			     script_places_scopes(&gathered->places, script));
	for (size_t t = 0; t < script->actor_count; t++)
		script->actors[t].finish_ns = gathered->finish_ns[t];
}

/* Time for which recorded threads were ready and had no CPU. */
static uint64_t cpu_queued_ns(const struct recording *rec)
{
	uint64_t queued_ns = 0;

	for (size_t i = 1; i < rec->sample_count; i++) {
		const struct rec_sample *sample = &rec->samples[i];

		if (sample->thread == sample[-1].thread && sample[-1].queued_ns &&
		    sample->queued_ns > sample[-1].queued_ns)
			queued_ns += sample->queued_ns - sample[-1].queued_ns;
	}
	return queued_ns;
}

/*
 * The threads made a crowd if they used enough of the CPUs. If others used them, the time waited
 * for a CPU tells: a wake-up was late because of others, who are not replayed.
 *
 * If the threads waited, and yet left CPUs alone, others had those for themselves. The threads
 * crowded the rest.
 */
static void crowd_find(struct script *script, const struct recording *rec)
{
	double threads = (double)rec->thread_count, length_ns = (double)rec->end_ns;
	double used_ns = (double)samples_cpu_ns(rec), queued_ns = (double)cpu_queued_ns(rec);

	script->left_cpus = script->recorded_cpus;
	if (queued_ns > assume.queued * script->recorded_cpus * length_ns)
		script->left_cpus = leftover_cpus(rec, script->recorded_cpus);
	double whole_ns = script->left_cpus * length_ns;
	bool are_enough = threads > script->left_cpus;

	script->made_crowd = are_enough && used_ns > assume.crowded * whole_ns;
	script->was_crowded =
		script->made_crowd || (are_enough && queued_ns > assume.queued * whole_ns);
}

/* How many CPUs there were, and whether the recording shows what each thread had of them. */
static void cpus_find(struct script *script, const struct recording *rec)
{
	uint32_t cpus = 0;

	/* An image that was replaced by exec may be what gave it fewer: taskset, for one. */
	for (uint32_t p = 0; p < rec->process_count; p++)
		if (rec->processes[p].cpus > cpus && script_next_image(rec, p) == NO_INDEX)
			cpus = rec->processes[p].cpus;
	script->recorded_cpus = cpus ? cpus : INFINITY;
	crowd_find(script, rec);
}

static uint32_t *lock_classes(const struct releases *releases, const struct recording *rec,
			      const struct class_table *classes)
{
	uint32_t *class_of = memory_new(releases->locks.count, sizeof(*class_of));

	for (size_t i = 0; i < releases->locks.count; i++)
		class_of[i] = NO_INDEX;
	for (size_t op = 0; op < rec->op_count; op++)
		if (releases->lock_of[op] != NO_INDEX)
			class_of[releases->lock_of[op]] = classes->of_op[op];
	return class_of;
}

void script_build(struct script *script, const struct recording *rec,
		  const struct class_table *classes, const struct script_options *options)
{
	struct timeline timeline;
	struct releases releases;
	struct found found;

	assert(rec->thread_count && rec->extras);
	memset(script, 0, sizeof(*script));
	script->recording = rec;
	script->class_count = classes->count;
	script->unresolved_of_class_ns =
		memory_new(classes->count, sizeof(*script->unresolved_of_class_ns));
	cpus_find(script, rec);
	timeline_build(&timeline, rec);
	releases_build(&releases, rec);
	monitors_build(&script->monitors, rec, &timeline, &releases);
	flows_build(&script->flows, rec);
	requests_build(&script->requests, rec, classes, &script->flows, &timeline);
	script->lock_count = releases.locks.count;
	script->lock_class = lock_classes(&releases, rec, classes);
	actors_prepare(script, rec, &timeline);
	script_peeks_find(script, classes, &timeline);
	found_build(&found, script, rec, &timeline);
	jobs_prepare(script);
	struct compiler compiler = { .rec = rec,
				     .classes = classes,
				     .timeline = &timeline,
				     .releases = &releases,
				     .found = &found,
				     .script = script };
	compile_threads(&compiler, options->functions);
	complete(&compiler, options->functions);
	gathered_free(&compiler.gathered);
	found_free(&found);
	releases_free(&releases);
	timeline_free(&timeline);
	assert(script_is_valid(script));
}

void script_free(struct script *script)
{
	for (size_t i = 0; i < script->source_count; i++) {
		free(script->jobs[i].steps);
		free(script->jobs[i].items);
		free(script->jobs[i].cost_of);
	}
	requests_free(&script->requests);
	flows_free(&script->flows);
	monitors_free(&script->monitors);
	scopes_free(&script->scopes);
	shares_free(&script->shares);
	script_messages_free(script);
	free(script->jobs);
	free(script->steps);
	free(script->actors);
	free(script->lock_class);
	free(script->unresolved_of_class_ns);
	free(script->polling_of_class_ns);
	free(script->permits);
	free(script->parties);
	memset(script, 0, sizeof(*script));
}
