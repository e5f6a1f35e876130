/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the visits of event loops, by connection and by stretch, once for all runs of a simulation;
 * simulate_loops.c has the rules.
 *
 * One thread a simulation.
 */
#include "base/memory.h"
#include "simulate_loops_parts.h"

#include <stdlib.h>
#include <string.h>

/* Visits while they are being listed. */
struct listing {
	struct event_loops *loops;
	const struct script *script;
	uint32_t *steps;     /* by visit; NO_INDEX = it was left out */
	uint32_t *stretches; /* by visit */
	uint32_t *visits;    /* stretch by stretch */
	uint32_t *accepts;   /* by transfer */
	uint32_t stretch_count;
	uint32_t visit_count;
	uint32_t tick_count;
	uint64_t entered_ns; /* the stretch, in the recording */
};

static void stretch_begin(struct listing *listing, uint32_t step)
{
	uint32_t at = listing->visit_count;

	listing->loops->stretches[listing->stretch_count++] = (struct stretch){ step, at, at };
}

/* Ticks are so long after the thread came to the barrier before them, or to the loop. */
static void tick_look(struct listing *listing, uint32_t actor, uint32_t index, uint32_t step)
{
	struct event_loops *loops = listing->loops;
	struct looper *looper = &loops->loopers[actor];
	const struct visit *visit = &listing->script->loops.visits[index];
	uint32_t stretch = listing->stretch_count - loops->first_stretch[actor] - 1;

	if (visit->op == NO_INDEX)
		return;
	const struct rec_op *op = &listing->script->recording->ops[visit->op];
	if (visit->sort == VISIT_BARRIER || listing->entered_ns == UINT64_MAX)
		listing->entered_ns = op->start_ns;
	if (visit->sort != VISIT_TICK)
		return;
	if (!looper->tick_count++)
		looper->first_tick = listing->tick_count;
	loops->ticks[listing->tick_count++] =
		(struct planned_tick){ op->end_ns - listing->entered_ns, step, stretch };
}

/* The visits and barriers of an actor, as they come in its steps. */
static void actor_look(struct listing *listing, uint32_t actor)
{
	const struct script *script = listing->script;
	uint32_t i = script->actors[actor].first_step, from = listing->stretch_count;

	stretch_begin(listing, NO_INDEX);
	listing->entered_ns = UINT64_MAX;
	for (; script->steps[i].type != STEP_END; i++) {
		uint32_t visit = script->steps[i].arg;

		if (script->steps[i].type != STEP_VISIT)
			continue;
		enum visit_sort sort = script->loops.visits[visit].sort;

		tick_look(listing, actor, visit, i);
		if (sort == VISIT_BARRIER) {
			stretch_begin(listing, i);
			continue;
		}
		listing->steps[visit] = i;
		listing->stretches[visit] = listing->stretch_count - from - 1;
		if (sort == VISIT_TURN || sort == VISIT_TICK)
			continue;
		listing->visits[listing->visit_count++] = visit;
		listing->loops->stretches[listing->stretch_count - 1].end = listing->visit_count;
	}
}

/* The one stretch of an actor that has visits; NO_INDEX = several have. */
static uint32_t only_stretch(const struct event_loops *loops, uint32_t actor)
{
	uint32_t first = loops->first_stretch[actor], found = 0;
	bool has_any = false;

	for (uint32_t i = first; i < loops->first_stretch[actor + 1]; i++) {
		if (loops->stretches[i].first == loops->stretches[i].end)
			continue;
		if (has_any)
			return NO_INDEX;
		has_any = true;
		found = i - first;
	}
	return found;
}

static void find_pinned(struct event_loops *loops, const struct script *script)
{
	uint32_t *threads = memory_new(loops->loop_count, sizeof(*threads));
	size_t count = script->recording->thread_count;

	for (size_t i = 0; i < count; i++)
		if (loops->loopers[i].loop != NO_INDEX)
			threads[loops->loopers[i].loop]++;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t loop = loops->loopers[i].loop;

		if (loop == NO_INDEX || threads[loop] < 2)
			continue;
		loops->loops[loop].is_shared = true;
		loops->loopers[i].visits_stretch = only_stretch(loops, i);
		if (loops->loopers[i].visits_stretch == NO_INDEX)
			loops->loops[loop].is_pinned = true;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t loop = loops->loopers[i].loop;

		if (loop != NO_INDEX && loops->loops[loop].is_pinned)
			loops->loopers[i].loop = NO_INDEX;
	}
	free(threads);
}

static void find_turns(struct listing *listing)
{
	struct event_loops *loops = listing->loops;
	const struct loops *script_loops = &listing->script->loops;
	uint32_t count = 0;

	loops->turn_steps = memory_new(script_loops->visit_count, sizeof(*loops->turn_steps));
	for (uint32_t i = 0; i < script_loops->visit_count; i++) {
		struct looper *looper = &loops->loopers[script_loops->visits[i].thread];

		if (script_loops->visits[i].sort != VISIT_TURN)
			continue;
		if (!looper->turn_count++)
			looper->first_turn = count;
		loops->turn_steps[count++] = listing->steps[i];
	}
}

struct ordered_visit {
	uint64_t at_ns;
	uint32_t loop;
	uint32_t flow;
	uint32_t visit;
};

static int compare_visits(const void *left, const void *right)
{
	const struct ordered_visit *a = left, *b = right;

	if (a->flow != b->flow)
		return a->flow < b->flow ? -1 : 1;
	if (a->loop != b->loop)
		return a->loop < b->loop ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->visit > b->visit) - (a->visit < b->visit);
}

static bool is_accept(const struct script *script, const struct visit *visit)
{
	return script->flows.flows[visit->flow].unit == FLOW_CONNECTIONS;
}

static uint64_t needed_by(const struct listing *listing, const struct visit *visit)
{
	const struct flows *flows = &listing->script->flows;

	if (visit->transfer == NO_INDEX)
		return 0;
	if (is_accept(listing->script, visit))
		return listing->accepts[visit->transfer];
	return flows->flows[visit->flow].is_gathered ? 1 : flows->transfers[visit->transfer].bytes;
}

/* Which of its listener's connections each read takes, from 1. */
static void accepts_count(struct listing *listing)
{
	const struct flows *flows = &listing->script->flows;
	uint32_t count = 0;

	listing->accepts = memory_new(flows->transfer_count, sizeof(*listing->accepts));
	for (size_t i = 0; i < flows->transfer_count; i++) {
		if (i && flows->transfers[i].flow != flows->transfers[i - 1].flow)
			count = 0;
		count += !flows->transfers[i].is_write;
		listing->accepts[i] = count;
	}
}

static uint32_t source_of(const struct event_loops *loops, uint32_t flow, uint32_t loop)
{
	uint32_t source = loops->source_of_flow[flow];

	while (source != NO_INDEX && loops->sources[source].loop != loop)
		source = loops->sources[source].next_of_flow;
	return source;
}

static void source_add(struct listing *listing, const struct ordered_visit *ordered, uint32_t at)
{
	struct event_loops *loops = listing->loops;
	const struct visit *visit = &listing->script->loops.visits[ordered->visit];

	uint32_t source = source_of(loops, visit->flow, ordered->loop);

	if (source == NO_INDEX) {
		source = (uint32_t)loops->source_count++;
		loops->sources[source] =
			(struct source){ .flow = visit->flow,
					 .loop = ordered->loop,
					 .next_of_flow = loops->source_of_flow[visit->flow],
					 .first = at };
		loops->source_of_flow[visit->flow] = source;
	}
	loops->sources[source].count++;
	bool is_shared = loops->loops[ordered->loop].is_shared;
	uint32_t stretch = listing->stretches[ordered->visit];
	uint32_t job = listing->script->job_of_visit[ordered->visit];

	for (uint32_t i = job; i != NO_INDEX; i = listing->script->also_of_job[i])
		loops->source_of_job[i] = source;
	loops->plan[at] = (struct planned_visit){ .needed = needed_by(listing, visit),
						  .step = listing->steps[ordered->visit],
						  .job = job,
						  .stretch = is_shared ? 0 : stretch,
						  .is_accept = visit->transfer != NO_INDEX &&
							       is_accept(listing->script, visit),
						  .is_put_off = visit->sort == VISIT_PUT_OFF,
						  .is_timed = visit->sort == VISIT_TIMER };
}

static void find_sources(struct listing *listing)
{
	const struct script *script = listing->script;
	struct event_loops *loops = listing->loops;
	struct ordered_visit *ordered = memory_new(listing->visit_count, sizeof(*ordered));
	uint32_t count = 0;

	for (uint32_t i = 0; i < listing->visit_count; i++) {
		const struct visit *visit = &script->loops.visits[listing->visits[i]];

		if (loops->loopers[visit->thread].loop != NO_INDEX)
			ordered[count++] =
				(struct ordered_visit){ script->recording->ops[visit->op].start_ns,
							loops->loopers[visit->thread].loop,
							visit->flow, listing->visits[i] };
	}
	if (count)
		qsort(ordered, count, sizeof(*ordered), compare_visits);
	loops->sources = memory_new(count, sizeof(*loops->sources));
	loops->plan = memory_new(count, sizeof(*loops->plan));
	for (uint32_t i = 0; i < count; i++)
		source_add(listing, &ordered[i], i);
	for (size_t i = 0; i < loops->loop_count; i++)
		agenda_make(&loops->loops[i].timers, loops->source_count);
	loops->in_step_order = memory_new(listing->visit_count, sizeof(*loops->in_step_order));
	for (uint32_t i = 0; i < listing->visit_count; i++) {
		const struct visit *visit = &script->loops.visits[listing->visits[i]];

		loops->in_step_order[i] =
			source_of(loops, visit->flow, loops->loopers[visit->thread].loop);
	}
	free(ordered);
}

static void list_actors(struct listing *listing)
{
	const struct script *script = listing->script;
	struct event_loops *loops = listing->loops;
	size_t threads = script->recording->thread_count;

	loops->stretches =
		memory_new(script->loops.visit_count + threads, sizeof(*loops->stretches));
	loops->first_stretch = memory_new(script->actor_count + 1, sizeof(*loops->first_stretch));
	loops->loopers = memory_new(script->actor_count, sizeof(*loops->loopers));
	loops->ticks = memory_new(script->loops.visit_count, sizeof(*loops->ticks));
	for (uint32_t i = 0; i < script->actor_count; i++) {
		bool is_added = i >= threads;

		loops->loopers[i].loop = is_added ? NO_INDEX : script->loops.loop_of_thread[i];
		if (!is_added)
			actor_look(listing, i);
		loops->first_stretch[i + 1] = listing->stretch_count;
	}
}

void simulate_loops_find(struct simulation *sim)
{
	const struct script *script = sim->script;
	size_t visit_count = script->loops.visit_count, flow_count = script->flows.flow_count;

	if (!script->loops.loop_count)
		return;
	struct event_loops *loops = sim->loops = memory_new(1, sizeof(*sim->loops));
	struct listing listing = { .loops = loops, .script = script };

	loops->loop_count = script->loops.loop_count;
	loops->loops = memory_new(loops->loop_count, sizeof(*loops->loops));
	loops->source_of_flow = memory_new(flow_count, sizeof(*loops->source_of_flow));
	memset(loops->source_of_flow, 0xff, flow_count * sizeof(*loops->source_of_flow));
	loops->source_of_job = memory_new(script->job_count, sizeof(*loops->source_of_job));
	memset(loops->source_of_job, 0xff, script->job_count * sizeof(*loops->source_of_job));
	listing.steps = memory_new(visit_count, sizeof(*listing.steps));
	memset(listing.steps, 0xff, visit_count * sizeof(*listing.steps));
	listing.stretches = memory_new(visit_count, sizeof(*listing.stretches));
	listing.visits = memory_new(visit_count, sizeof(*listing.visits));
	accepts_count(&listing);
	list_actors(&listing);
	find_turns(&listing);
	find_pinned(loops, script);
	find_sources(&listing);
	free(listing.steps);
	free(listing.stretches);
	free(listing.visits);
	free(listing.accepts);
}

void simulate_loops_free(struct simulation *sim)
{
	struct event_loops *loops = sim->loops;

	if (!loops)
		return;
	for (size_t i = 0; i < loops->loop_count; i++)
		agenda_free(&loops->loops[i].timers);
	free(loops->loops);
	free(loops->sources);
	free(loops->source_of_flow);
	free(loops->plan);
	free(loops->source_of_job);
	free(loops->in_step_order);
	free(loops->stretches);
	free(loops->first_stretch);
	free(loops->turn_steps);
	free(loops->ticks);
	free(loops->loopers);
	free(loops);
}
