/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a script together: what threads share (semaphores, barriers), who starts
 * whom, and whose finish is the makespan.
 *
 * One thread.
 */
#include "script.h"

#include "addresses.h"
#include "format.h"
#include "memory.h"
#include "script_parts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * From this share of the CPUs on, threads are taken to have queued for them: below, what a run took
 * beyond its CPU time was something else. A third, as others may have used as much again.
 */
static const double CROWDED_SHARE = 0.33;

/* --- who starts and joins whom --- */

uint32_t script_first_thread(const struct recording *rec, uint32_t process)
{
	for (size_t t = 0; t < rec->thread_count; t++)
		if (rec->threads[t].process == process &&
		    rec->threads[t].tid == rec->processes[process].pid)
			return (uint32_t)t;
	return NO_INDEX;
}

static uint64_t image_start_ns(const struct recording *rec, uint32_t process)
{
	uint32_t op = rec->processes[process].op;

	return op == NO_INDEX ? 0 : rec->ops[op].start_ns;
}

uint32_t script_next_image(const struct recording *rec, uint32_t process)
{
	uint32_t next = NO_INDEX;

	for (uint32_t p = 0; p < rec->process_count; p++)
		if (p != process && rec->processes[p].client &&
		    rec->processes[p].client == rec->processes[process].client &&
		    image_start_ns(rec, p) > image_start_ns(rec, process) &&
		    (next == NO_INDEX || image_start_ns(rec, p) < image_start_ns(rec, next)))
			next = p;
	return next;
}

/* The first thread of a client's first image, or of its last one. */
static uint32_t thread_of_client(const struct recording *rec, uint32_t client, bool last)
{
	uint32_t image = NO_INDEX;

	for (uint32_t p = 0; client && p < rec->process_count; p++)
		if (rec->processes[p].client == client &&
		    (image == NO_INDEX ||
		     (image_start_ns(rec, p) > image_start_ns(rec, image)) == last))
			image = p;
	return image == NO_INDEX ? NO_INDEX : script_first_thread(rec, image);
}

uint32_t script_started_actor(const struct recording *rec, const struct rec_link *link)
{
	if (link->kind == LINK_NESTED_CLIENT)
		return thread_of_client(rec, link->ident, false);
	if (link->kind != LINK_SPAWN || link->to == NO_INDEX ||
	    rec->ops[link->to].kind != KIND_THREAD)
		return NO_INDEX;
	return rec->ops[link->to].thread;
}

uint32_t script_joined_actor(const struct recording *rec, const struct rec_wait *wait)
{
	if (wait->target == NO_INDEX || wait->timed_out)
		return NO_INDEX;
	const struct rec_op *target = &rec->ops[wait->target];
	uint32_t actor = NO_INDEX;
	if (target->kind == KIND_EXEC)
		actor = thread_of_client(rec, target->ident, true);
	else if (target->kind == KIND_THREAD)
		actor = target->thread;
	return actor != NO_INDEX && rec->threads[actor].op != NO_INDEX ? actor : NO_INDEX;
}

/* --- barriers --- */

struct arrival {
	uint64_t at_ns;
	uint32_t barrier;
	uint32_t wait;
};

static int compare_arrivals(const void *left, const void *right)
{
	const struct arrival *a = left, *b = right;

	if (a->barrier != b->barrier)
		return a->barrier < b->barrier ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->wait < b->wait ? -1 : a->wait > b->wait;
}

/* The thread that opens a barrier wakes the others: one less than take part. */
static void parties_find(struct script *script, const struct recording *rec,
			 const struct addresses *barriers)
{
	script->barrier_count = barriers->count;
	script->parties = memory_new(barriers->count, sizeof(*script->parties));
	for (size_t i = 0; i < barriers->count; i++)
		script->parties[i] = 1;
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (link->kind != LINK_WAKE || link->thread == NO_INDEX)
			continue;
		uint32_t barrier =
			addresses_find(barriers, rec->threads[link->thread].process, link->address);
		if (barrier != NO_INDEX)
			script->parties[barrier] = link->count + 1;
	}
}

/*
 * A barrier opens when as many have come as take part: its arrivals in order, in groups of that
 * many. Returns, for each wait, how long after the last arrival it returned.
 */
static uint64_t *barriers_find(struct script *script, const struct recording *rec,
			       struct addresses *barriers)
{
	uint64_t *latency_ns = memory_new(rec->wait_count, sizeof(*latency_ns));
	struct arrival *arrivals = NULL;
	size_t count = 0, capacity = 0;

	for (uint32_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		if (wait->reason != REASON_BARRIER || wait->thread == NO_INDEX || wait->open)
			continue;
		uint32_t barrier =
			addresses_add(barriers, rec->threads[wait->thread].process, wait->address);
		arrivals = memory_grow(arrivals, &capacity, count + 1, sizeof(*arrivals));
		arrivals[count++] = (struct arrival){ wait->start_ns, barrier, i };
	}
	parties_find(script, rec, barriers);
	if (count)
		qsort(arrivals, count, sizeof(*arrivals), compare_arrivals);
	for (size_t from = 0, to; from < count; from = to) {
		uint32_t parties = script->parties[arrivals[from].barrier];

		for (to = from + 1; to < count && to - from < parties &&
				    arrivals[to].barrier == arrivals[from].barrier;)
			to++;
		uint64_t opened_ns = arrivals[to - 1].at_ns;
		for (size_t i = from; i < to; i++) {
			uint64_t end_ns = rec->waits[arrivals[i].wait].end_ns;

			latency_ns[arrivals[i].wait] = end_ns > opened_ns ? end_ns - opened_ns : 0;
		}
	}
	free(arrivals);
	return latency_ns;
}

/* --- semaphores --- */

struct permit_event {
	uint64_t at_ns;
	uint32_t semaphore;
	uint32_t wait; /* NO_INDEX: a post */
	int change;
};

static int compare_permits(const void *left, const void *right)
{
	const struct permit_event *a = left, *b = right;

	if (a->semaphore != b->semaphore)
		return a->semaphore < b->semaphore ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return b->change - a->change;
}

static struct permit_event *permit_events(struct addresses *semaphores, const struct recording *rec,
					  size_t *count)
{
	struct permit_event *events = NULL;
	size_t capacity = 0;

	*count = 0;
	for (size_t i = 0; i < rec->wait_count + rec->link_count; i++) {
		bool is_wait = i < rec->wait_count;
		const struct rec_wait *wait = is_wait ? &rec->waits[i] : NULL;
		const struct rec_link *link = is_wait ? NULL : &rec->links[i - rec->wait_count];
		uint32_t thread = is_wait ? wait->thread : link->thread;

		if (thread == NO_INDEX ||
		    (is_wait ? wait->reason != REASON_SEM || wait->timed_out || wait->open
			     : link->kind != LINK_POST))
			continue;
		uint32_t semaphore = addresses_add(semaphores, rec->threads[thread].process,
						   is_wait ? wait->address : link->address);
		events = memory_grow(events, &capacity, *count + 1, sizeof(*events));
		events[(*count)++] =
			(struct permit_event){ is_wait ? wait->end_ns : link->at_ns, semaphore,
					       is_wait ? (uint32_t)i : NO_INDEX, is_wait ? -1 : 1 };
	}
	if (*count)
		qsort(events, *count, sizeof(*events), compare_permits);
	return events;
}

/*
 * The permits at the start are the recording's largest deficit of permits taken over permits
 * posted. Returns, for each wait, how long after the last post it returned: which of several posts
 * woke it is not known.
 */
static uint64_t *semaphores_find(struct script *script, const struct recording *rec,
				 struct addresses *semaphores)
{
	uint64_t *latency_ns = memory_new(rec->wait_count, sizeof(*latency_ns));
	uint64_t posted_ns = 0;
	int64_t permits = 0;
	size_t count;
	struct permit_event *events = permit_events(semaphores, rec, &count);

	script->semaphore_count = semaphores->count;
	script->permits = memory_new(semaphores->count, sizeof(*script->permits));
	for (size_t i = 0; i < count; i++) {
		const struct permit_event *event = &events[i];

		if (!i || event->semaphore != events[i - 1].semaphore)
			permits = 0, posted_ns = 0;
		permits += event->change;
		if (permits < -(int64_t)script->permits[event->semaphore])
			script->permits[event->semaphore] = (uint32_t)-permits;
		if (event->wait == NO_INDEX)
			posted_ns = event->at_ns;
		else
			latency_ns[event->wait] = posted_ns > rec->waits[event->wait].start_ns
							  ? event->at_ns - posted_ns
							  : LATENCY_UNKNOWN;
	}
	free(events);
	return latency_ns;
}

/* --- whose finish is the makespan --- */

/* Nobody in the recording started it. What it went on with by exec was started by itself. */
static bool is_root(const struct recording *rec, uint32_t process, const struct actor *actors)
{
	uint32_t first = process;

	for (uint32_t p = 0; p < rec->process_count; p++)
		if (rec->processes[p].client &&
		    rec->processes[p].client == rec->processes[process].client &&
		    image_start_ns(rec, p) < image_start_ns(rec, first))
			first = p;
	uint32_t thread = script_first_thread(rec, first);

	return thread == NO_INDEX || !actors[thread].is_spawned;
}

/* The thread that ended a process that ended itself, NO_INDEX = it was still running. */
static uint32_t ending_thread(const struct recording *rec, uint32_t process)
{
	uint32_t ending = NO_INDEX;

	if (rec->processes[process].op == NO_INDEX || rec->extras[rec->processes[process].op].open)
		return NO_INDEX;
	for (uint32_t t = 0; t < rec->thread_count; t++) {
		if (rec->threads[t].process != process || rec->threads[t].op == NO_INDEX ||
		    rec->extras[rec->threads[t].op].open)
			continue;
		if (ending == NO_INDEX ||
		    rec->ops[rec->threads[t].op].end_ns > rec->ops[rec->threads[ending].op].end_ns)
			ending = t;
	}
	return ending;
}

static void choose_finishers(struct script *script, const struct compiler *compiler)
{
	const struct recording *rec = compiler->rec;
	bool any = false;

	for (uint32_t p = 0; p < rec->process_count; p++) {
		if (script_next_image(rec, p) != NO_INDEX || !is_root(rec, p, script->actors))
			continue;
		uint32_t ending = ending_thread(rec, p);

		if (ending != NO_INDEX) {
			script->actors[ending].counts = true;
			any = true;
			continue;
		}
		for (uint32_t t = 0; t < rec->thread_count; t++) {
			if (rec->threads[t].process != p)
				continue;
			script->actors[t].counts = compiler->worked[t];
			any = any || compiler->worked[t];
		}
	}
	for (size_t t = 0; !any && t < script->actor_count; t++)
		script->actors[t].counts = true;
	uint64_t finish_ns = script->start_ns;
	for (size_t t = 0; t < script->actor_count; t++)
		if (script->actors[t].counts && compiler->finish_ns[t] > finish_ns)
			finish_ns = compiler->finish_ns[t];
	script->actual_ns = finish_ns - script->start_ns;
}

/* --- all of it --- */

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

static int compare_u64(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Its time is how long a wake-up took. */
static bool is_woken_in(const struct step *step)
{
	return step->type == STEP_ACQUIRE || step->type == STEP_SHARE || step->type == STEP_TAKE ||
	       step->type == STEP_AFTER || step->type == STEP_PERMIT ||
	       step->type == STEP_BARRIER || step->type == STEP_RECEIVE ||
	       step->type == STEP_AWAIT || step->type == STEP_JOIN || step->type == STEP_SPAWN;
}

static void fill_latencies(struct compiler *compiler)
{
	struct script *script = compiler->script;

	if (compiler->latency_count) {
		qsort(compiler->latencies_ns, compiler->latency_count, sizeof(uint64_t),
		      compare_u64);
		script->lock_latency_ns = compiler->latencies_ns[compiler->latency_count / 2];
	}
	/* For waits that the recording does not have: no reason to take a busy moment's for
	 * them. */
	if (script->lock_latency_ns > WAKE_UP_NS_MAX)
		script->lock_latency_ns = WAKE_UP_NS_MAX;
	for (size_t i = 0; i < script->step_count; i++) {
		struct step *step = &script->steps[i];

		if (step->ns == LATENCY_UNKNOWN)
			step->ns = script->lock_latency_ns;
		if (script->was_crowded && is_woken_in(step) && step->ns > WAKE_UP_NS_MAX)
			step->ns = WAKE_UP_NS_MAX;
	}
}

/* NO_INDEX for each sample; NULL when none has a stack, or its functions are not known. */
static uint32_t *scopes_of_samples(const struct recording *rec,
				   const struct stack_functions *functions)
{
	size_t stacks = 0;

	for (size_t i = 0; functions && functions->first && i < rec->sample_count; i++)
		stacks += rec->samples[i].stack != 0;
	if (!stacks)
		return NULL;
	uint32_t *scope_of = memory_new(rec->sample_count, sizeof(*scope_of));
	for (size_t i = 0; i < rec->sample_count; i++)
		scope_of[i] = NO_INDEX;
	return scope_of;
}

static void compile(struct compiler *compiler, const struct stack_functions *functions)
{
	struct script *script = compiler->script;
	const struct recording *rec = compiler->rec;
	bool *is_awaited = awaited_links(&script->monitors, rec);
	uint64_t *barrier_latency_ns = barriers_find(script, rec, compiler->barriers);

	uint64_t *permit_latency_ns = semaphores_find(script, rec, compiler->semaphores);

	compiler->permit_latency_ns = permit_latency_ns;
	compiler->is_awaited = is_awaited;
	compiler->barrier_latency_ns = barrier_latency_ns;
	compiler->finish_ns = memory_new(rec->thread_count, sizeof(*compiler->finish_ns));
	compiler->worked = memory_new(rec->thread_count, sizeof(*compiler->worked));
	compiler->scope_of_sample = scopes_of_samples(rec, functions);
	script->source_count = script->monitors.condition_count + script->flows.flow_count +
			       script->semaphore_count;
	script->jobs = memory_new(script->source_count, sizeof(*script->jobs));
	for (size_t i = 0; i < script->source_count; i++)
		script->jobs[i].lock = NO_INDEX;
	for (uint32_t t = 0; t < rec->thread_count; t++)
		script_compile_thread(compiler, t);
	script_runs_cut(&compiler->runs, script->steps);
	script_runs_free(&compiler->runs);
	script_pools_find(compiler);
	fill_latencies(compiler);
	choose_finishers(script, compiler);
	if (compiler->scope_of_sample)
		shares_build(&script->shares, rec, functions, compiler->scope_of_sample);
	free(compiler->scope_of_sample);
	free(is_awaited);
	free(barrier_latency_ns);
	free(permit_latency_ns);
	for (size_t t = 0; t < script->actor_count; t++)
		script->actors[t].finish_ns = compiler->finish_ns[t];
	free(compiler->finish_ns);
	free(compiler->worked);
	free(compiler->latencies_ns);
	free(compiler->taken);
}

/* CPU time that all recorded threads used. */
static uint64_t cpu_used_ns(const struct recording *rec)
{
	uint64_t used_ns = 0;

	for (size_t i = 1; i < rec->sample_count; i++)
		if (rec->samples[i].thread == rec->samples[i - 1].thread)
			used_ns += rec->samples[i].cpu_ns - rec->samples[i - 1].cpu_ns;
	return used_ns;
}

/* How many CPUs there were, are to be, and whether the recording shows what each thread had of
 * them. */
static void cpus_find(struct script *script, const struct recording *rec,
		      const struct script_options *options)
{
	uint32_t cpus = 0;

	for (size_t p = 0; p < rec->process_count; p++)
		cpus = rec->processes[p].cpus > cpus ? rec->processes[p].cpus : cpus;
	script->recorded_cpus = cpus ? cpus : INFINITY;
	script->was_crowded = (double)rec->thread_count > script->recorded_cpus &&
			      (double)cpu_used_ns(rec) >
				      CROWDED_SHARE * script->recorded_cpus * (double)rec->end_ns;
	script->cpus = options->cpus > 0 ? options->cpus : script->recorded_cpus;
	if (!rec->sample_count && !(options->cpus > 0))
		script->cpus = INFINITY;
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
	struct addresses semaphores = { 0 }, barriers = { 0 };

	assert(rec->thread_count && rec->extras);
	memset(script, 0, sizeof(*script));
	script->recording = rec;
	script->class_count = classes->count;
	script->unresolved_of_class_ns =
		memory_new(classes->count, sizeof(*script->unresolved_of_class_ns));
	cpus_find(script, rec, options);
	timeline_build(&timeline, rec);
	releases_build(&releases, rec);
	monitors_build(&script->monitors, rec, &timeline, &releases);
	flows_build(&script->flows, rec);
	requests_build(&script->requests, rec, classes, &script->flows, &timeline);
	script->lock_count = releases.locks.count;
	script->lock_class = lock_classes(&releases, rec, classes);
	actors_prepare(script, rec, &timeline);
	struct compiler compiler = { .script = script,
				     .rec = rec,
				     .classes = classes,
				     .timeline = &timeline,
				     .releases = &releases,
				     .semaphores = &semaphores,
				     .barriers = &barriers };
	compile(&compiler, options->functions);
	addresses_free(&semaphores);
	addresses_free(&barriers);
	releases_free(&releases);
	timeline_free(&timeline);
}

void script_free(struct script *script)
{
	for (size_t i = 0; i < script->source_count; i++)
		free(script->jobs[i].steps);
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
	free(script->permits);
	free(script->parties);
	memset(script, 0, sizeof(*script));
}
