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
#include "infer/flows_lent.h"
#include "recording/startup.h"
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
		actor->kernel = rec->processes[rec->threads[t].process].clock;
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

/* A program that is not recorded starts without what recording takes. */
static void recorder_apart(struct compiler *compiler, const struct actor *actor, uint32_t thread)
{
	struct script *script = compiler->script;
	struct step *run = &script->steps[actor->first_step];
	uint64_t own_ns = compiler->found->recorder_ns[thread];

	if (actor->startup_steps < 2)
		return;
	if (!script->has_recorder)
		script->recorder_scope = scopes_add_place(
			&script->scopes, scopes_add(&script->scopes, NO_INDEX, NULL, 0), 1);
	script->has_recorder = true;
	run[1].arg = script->recorder_scope;
	run[1].ns = own_ns < run->ns ? own_ns : run->ns;
	run->ns -= run[1].ns;
}

/* From the start of a thread to its first op it used a CPU for a part of the time. */
static void fill_startups(struct compiler *compiler)
{
	struct script *script = compiler->script;

	for (size_t i = 0; i < script->step_count; i++) {
		struct step *spawn = &script->steps[i];

		if (spawn->type != STEP_SPAWN || !script->actors[spawn->arg].startup_steps)
			continue;
		uint64_t run_ns = compiler->found->startup_ns[spawn->arg];
		run_ns = run_ns < spawn->ns ? run_ns : spawn->ns;
		script->steps[script->actors[spawn->arg].first_step].ns = run_ns;
		spawn->ns -= run_ns;
		recorder_apart(compiler, &script->actors[spawn->arg], spawn->arg);
	}
}

static void fill_latencies(struct compiler *compiler)
{
	struct script *script = compiler->script;
	struct gathered *gathered = &compiler->gathered;

	if (gathered->latency_count)
		script->lock_latency_ns =
			percentile_select(gathered->latencies_ns, gathered->latency_count,
					  gathered->latency_count / 2);
	for (size_t i = 0; i < script->step_count; i++)
		if (script->steps[i].ns == LATENCY_UNKNOWN)
			script->steps[i].ns = script->lock_latency_ns;
}

/* Tokens would explain a second time what the waits for turns are for. */
static void turns_replace_tokens(struct monitors *monitors, const struct turns *turns,
				 const struct recording *rec)
{
	for (size_t i = 0; turns->begins && i < rec->wait_count; i++)
		if (turns->begins[i] != NO_INDEX && monitors->condition_of_wait[i] != NO_INDEX)
			monitors->conditions[monitors->condition_of_wait[i]].model = PUT_NONE;
}

static void found_build(struct found *found, struct script *script, const struct recording *rec,
			const struct class_table *classes, const struct timeline *timeline,
			const struct releases *releases)
{
	*found = (struct found){ 0 };
	found->is_awaited = awaited_links(&script->monitors, rec);
	script_told_find(found, rec, &script->monitors);
	found->barrier_latency_ns = script_barriers_find(script, rec, &found->barriers);
	meetings_build(&found->meetings, rec, timeline, &script->monitors);
	turns_build(&found->turns, rec, timeline, releases, &script->monitors);
	turns_replace_tokens(&script->monitors, &found->turns, rec);
	meetings_explain(&found->meetings, rec, &script->monitors);
	quanta_build(&found->quanta, rec, timeline, &script->monitors);
	keys_build(&found->keys, rec, &script->monitors, &found->turns, &found->meetings);
	script_keys_add(script, &found->keys);
	pieces_build(&found->pieces, rec, classes, timeline, script_recorded_actors(script));
	halts_build(&script->halts, rec, timeline, &script->monitors, &found->meetings);
	script_meetings_find(script, &found->meetings);
	script_children_find(found, rec);
	script->children_count = found->semaphores.count;
	found->permit_latency_ns = script_semaphores_find(script, rec, &found->semaphores);
	found->adoptions =
		script_adoptions_find(rec, timeline, script->actors, &found->adoption_count);
	script_declared_find(found, rec);
	found->handed = script_handed_find(script);
	script_ends_find(found, rec);
	deadlines_find(&found->deadlines, rec, classes);
	script_marks_find(found, &script->looks);
}

static void found_free(struct found *found)
{
	addresses_free(&found->semaphores);
	addresses_free(&found->barriers);
	meetings_free(&found->meetings);
	turns_free(&found->turns);
	quanta_free(&found->quanta);
	keys_free(&found->keys);
	pieces_free(&found->pieces);
	free(found->is_awaited);
	script_told_free(found);
	free(found->startup_ns);
	free(found->queued_before_ns);
	free(found->recorder_ns);
	free(found->barrier_latency_ns);
	free(found->permit_latency_ns);
	free(found->adoptions);
	free(found->pipe_users);
	free(found->handed);
	free(found->children);
	free(found->worker_of);
	deadlines_free(&found->deadlines);
	free(found->marks);
}

static void gathered_free(struct gathered *gathered)
{
	script_runs_free(&gathered->runs);
	script_places_free(&gathered->places);
	free(gathered->latencies_ns);
	free(gathered->row_of_lock);
	free(gathered->has_ahead);
	free(gathered->step_of_turn);
	free(gathered->taken);
	free(gathered->finish_ns);
	free(gathered->outruns);
	free(gathered->queued_ns);
	free(gathered->knows_queue);
	free(gathered->thinks);
	free(gathered->asked);
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
	gathered->queued_ns = memory_new(rec->thread_count, sizeof(*gathered->queued_ns));
	gathered->knows_queue = memory_new(rec->thread_count, sizeof(*gathered->knows_queue));
	gathered->asked = memory_new(rec->thread_count, sizeof(*gathered->asked));
	gathered->worked = memory_new(rec->thread_count, sizeof(*gathered->worked));
	script_rounds_find(compiler);
	gathered->step_of_turn =
		memory_new(compiler->found->turns.count, sizeof(*gathered->step_of_turn));
	memset(gathered->step_of_turn, 0xff,
	       compiler->found->turns.count * sizeof(*gathered->step_of_turn));
	script_places_begin(&gathered->places, rec, functions);
	size_t recorded = script_recorded_actors(compiler->script);

	for (uint32_t t = 0; t < recorded; t++)
		script_compile_thread(compiler, t);
	for (uint32_t t = (uint32_t)recorded; t < rec->thread_count; t++)
		script_compile_client(compiler, t);
	script_looks_complete(compiler->script);
}

/* Time that a hypothesis can make shorter. */
static void scope_lengths_find(struct script *script)
{
	script->scope_ns = memory_new(script->scopes.count, sizeof(*script->scope_ns));
	for (size_t i = 0; i < script->step_count; i++)
		if (script->steps[i].type == STEP_RUN || script->steps[i].type == STEP_DELAY)
			script->scope_ns[script->steps[i].arg] += script->steps[i].ns;
}

/* From all threads' steps: how long each is, whose the jobs are, whose finish counts. */
static void complete(struct compiler *compiler, const struct stack_functions *functions)
{
	struct script *script = compiler->script;
	struct gathered *gathered = &compiler->gathered;

	script->sleep_run_ns = script_runs_sleep_ns(&gathered->runs);
	script_runs_cut(&gathered->runs, script->steps, script->sleep_run_ns);
	if (script->was_crowded) /* before a run's parts are moved to other steps */
		script->queued_ns = script_runs_take(&gathered->runs, script, gathered->queued_ns);
	script_wakes_find(script);
	script_places_split(&gathered->places, script);
	script_turns_find(compiler);
	script_pieces_complete(compiler);
	script_pools_find(compiler);
	script_races_complete(script);
	script_given_back_find(compiler);
	script_answers_find(script);
	fill_startups(compiler);
	fill_latencies(compiler);
	script_thinks_wake(compiler);
	if (script->was_crowded)
		script_queueing_leave_out(compiler);
	script_choose_finishers(script, compiler);
	scope_lengths_find(script);
	const struct shares_of shares_of = {
		.rec = compiler->rec,
		.functions = functions,
		.contexts = &gathered->places.contexts,
		.scopes = &script->scopes,
		.scope_of_sample = script_places_scopes(&gathered->places, script),
		.scope_ns = script->scope_ns,
	};
	shares_build(&script->shares, &shares_of);
	for (size_t t = 0; t < script->actor_count; t++)
		script->actors[t].finish_ns = gathered->finish_ns[t];
}

/* The part of the time in which at least one CPU was idle, if each was busy for its part. */
static double idle_share(const struct script *script, uint64_t used_ns, uint64_t length_ns)
{
	double busy = (double)used_ns / (double)length_ns + script->others.cpus;

	if (isinf(script->recorded_cpus) || !length_ns)
		return 1;
	return 1 - pow(fmin(busy / script->recorded_cpus, 1), script->recorded_cpus);
}

static uint64_t length_ns_of(const struct recording *rec)
{
	uint64_t first_ns = rec->end_ns;

	for (size_t i = 0; i < rec->op_count; i++)
		if (rec->ops[i].start_ns < first_ns)
			first_ns = rec->ops[i].start_ns;
	return rec->end_ns - first_ns;
}

/* Threads had to wait for CPUs only if there were more of them than CPUs, with those of others. */
static bool is_any_crowded(const struct script *script, const struct recording *rec)
{
	uint32_t *threads = memory_new(script->kernel_count, sizeof(*threads));
	bool is_crowded = false;

	for (size_t t = 0; t < rec->thread_count; t++)
		threads[rec->processes[rec->threads[t].process].clock]++;
	for (size_t i = 0; i < script->kernel_count; i++)
		is_crowded |= (double)threads[i] + script->others.there[i].stranger_count >
			      script->kernel_cpus[i];
	free(threads);
	return is_crowded;
}

static void crowd_find(struct script *script, const struct recording *rec,
		       const uint64_t *startup_ns)
{
	script->cpu_ns = samples_cpu_ns(rec);
	uint64_t used_ns = script->cpu_ns;

	for (size_t t = 0; t < rec->thread_count; t++)
		used_ns += startup_ns[t];
	others_find(&script->others, rec, startup_ns, script->kernel_cpus, script->kernel_count);
	script->was_crowded = rec->sample_count && is_any_crowded(script, rec);
	script->idle_share = idle_share(script, used_ns, length_ns_of(rec));
}

/* A period that no kernel has is none. */
static bool is_tick(uint64_t ns)
{
	return ns >= 100000 && ns <= 100000000;
}

/* How many CPUs each kernel's processes had; infinite: none of them says. */
static void kernels_find(struct script *script, const struct recording *rec)
{
	script->kernel_count = rec->clock_count ? rec->clock_count : 1;
	script->kernel_cpus = memory_new(script->kernel_count, sizeof(*script->kernel_cpus));
	/* An image that was replaced by exec may be what gave it fewer: taskset, for one. */
	for (uint32_t p = 0; p < rec->process_count; p++) {
		double *cpus = &script->kernel_cpus[rec->processes[p].clock];

		if (rec->processes[p].cpus > *cpus && script_next_image(rec, p) == NO_INDEX)
			*cpus = rec->processes[p].cpus;
	}
	for (size_t i = 0; i < script->kernel_count; i++) {
		if (!(script->kernel_cpus[i] > 0))
			script->kernel_cpus[i] = INFINITY;
		script->recorded_cpus += script->kernel_cpus[i];
	}
}

/* How many CPUs there were, and whether the recording shows what each thread had of them. */
static void cpus_find(struct script *script, const struct recording *rec,
		      const uint64_t *startup_ns)
{
	kernels_find(script, rec);
	for (uint32_t p = 0; p < rec->process_count && !script->recorded_tick_ns; p++)
		if (is_tick(rec->processes[p].tick_ns))
			script->recorded_tick_ns = rec->processes[p].tick_ns;
	for (uint32_t p = 0; p < rec->process_count && !script->recorded_cache_cpus; p++)
		if (rec->processes[p].cache_cpus < rec->processes[p].cpus)
			script->recorded_cache_cpus = rec->processes[p].cache_cpus;
	crowd_find(script, rec, startup_ns);
}

void script_build(struct script *script, const struct recording *rec,
		  const struct class_table *classes, const struct script_options *options)
{
	struct timeline timeline;
	struct releases releases;
	struct found found;

	assert(rec->thread_count && rec->extras);
	memset(script, 0, sizeof(*script));
	script->class_count = classes->count;
	script->unresolved_wait = NO_INDEX;
	script->unresolved_of_class_ns =
		memory_new(classes->count, sizeof(*script->unresolved_of_class_ns));
	script->arrivals = arrivals_find(rec, classes);
	uint64_t *startup_ns = startup_find(rec);
	cpus_find(script, rec, startup_ns);
	timeline_build(&timeline, rec);
	flows_build(&script->flows, rec);
	requests_build(&script->requests, rec, classes, &script->flows, &timeline);
	clients_build(&script->clients, rec, classes, options->clients);
	if (script->clients.count) {
		rec = &script->clients.recording;
		classes = &script->clients.classes;
		clients_date(&script->clients, &script->requests);
		timeline_free(&timeline);
		timeline_build(&timeline, rec);
		flows_free(&script->flows);
		flows_build(&script->flows, rec);
	}
	flows_lend(&script->flows, rec);
	script->recording = rec;
	releases_build(&releases, rec);
	monitors_build(&script->monitors, rec, &timeline, &releases);
	bool *puts = monitors_puts(&script->monitors, rec);

	loops_build(&script->loops, rec, &timeline, &script->flows, puts);
	free(puts);
	script->lock_count = releases.locks.count;
	script->lock_class = script_lock_classes(&releases, rec, classes);
	actors_prepare(script, rec, &timeline);
	looks_build(&script->looks, rec, classes, &timeline, &script->flows);
	clock_reads_build(&script->clock_reads, rec, classes);
	for (size_t i = 0; i < script->looks.lock_count; i++)
		script->looks.locks[i].lock =
			addresses_find(&releases.locks, NO_INDEX, script->looks.locks[i].address);
	script->look_spans = memory_new(script->looks.count, sizeof(*script->look_spans));
	found_build(&found, script, rec, classes, &timeline, &releases);
	found.startup_ns = startup_ns;
	found.queued_before_ns = startup_queued_before(rec);
	found.recorder_ns = startup_of_recorder(rec, startup_ns);
	jobs_prepare(script);
	struct compiler compiler = { .rec = rec,
				     .classes = classes,
				     .timeline = &timeline,
				     .releases = &releases,
				     .found = &found,
				     .script = script };
	compile_threads(&compiler, options->functions);
	complete(&compiler, options->functions);
	if (rec->extras)
		script_unruly_find(script, &timeline);
	gathered_free(&compiler.gathered);
	found_free(&found);
	releases_free(&releases);
	timeline_free(&timeline);
	assert(script_is_valid(script));
}

size_t script_recorded_actors(const struct script *script)
{
	return script->clients.count ? script->clients.first_thread
				     : script->recording->thread_count;
}

size_t script_recorded_ops(const struct script *script)
{
	return script->clients.count ? script->clients.first_op : script->recording->op_count;
}

void script_free(struct script *script)
{
	for (size_t i = 0; i < script->source_count; i++) {
		free(script->jobs[i].steps);
		free(script->jobs[i].items);
		free(script->jobs[i].latest);
		free(script->jobs[i].cost_of);
	}
	for (size_t i = 0; i < script->circle_count; i++) {
		free(script->circles[i].turns.steps);
		free(script->circles[i].turns.items);
		free(script->circles[i].turns.cost_of);
	}
	free(script->circles);
	free(script->rounds);
	clients_free(&script->clients);
	requests_free(&script->requests);
	loops_free(&script->loops);
	flows_free(&script->flows);
	monitors_free(&script->monitors);
	others_free(&script->others);
	scopes_free(&script->scopes);
	shares_free(&script->shares);
	script_messages_free(script);
	free(script->jobs);
	free(script->job_of_visit);
	free(script->also_of_job);
	free(script->job_of_link);
	free(script->is_unruly);
	free(script->steps);
	free(script->origins);
	free(script->actors);
	free(script->kernel_cpus);
	free(script->lock_class);
	free(script->arrivals);
	free(script->scope_ns);
	free(script->unresolved_of_class_ns);
	looks_free(&script->looks);
	halts_free(&script->halts);
	clock_reads_free(&script->clock_reads);
	free(script->look_spans);
	free(script->permits);
	free(script->owed_permits);
	free(script->parties);
	memset(script, 0, sizeof(*script));
}
