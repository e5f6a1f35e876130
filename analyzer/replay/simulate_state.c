/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the state of a simulation, and sets it back to the begin of a run.
 *
 * Memory is taken once for all runs. One thread a simulation.
 */
#include "base/memory.h"
#include "simulate_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void queue_clear(struct queue *queue)
{
	queue->first = queue->last = NO_INDEX;
}

/* Jobs of a source that nobody needs to put. */
static void put_what_is_there(struct simulation *sim, const struct job_list *jobs)
{
	bool is_other = sim->takes_latest && jobs->latest;

	for (uint32_t n = 0; n < jobs->there; n++)
		sim->is_put[jobs->first + (is_other ? jobs->latest[n] : n)] = true;
}

static void resources_clear(struct simulation *sim)
{
	const struct script *script = sim->script;

	for (size_t i = 0; i < script->lock_count; i++) {
		bool is_shared = sim->locks[i].is_shared;

		sim->locks[i] = (struct lock){ .owner = NO_INDEX, .is_shared = is_shared };
		queue_clear(&sim->locks[i].sleepers);
		queue_clear(&sim->locks[i].readers);
	}
	for (size_t i = 0; i < script->monitors.condition_count; i++) {
		sim->tokens[i] = (struct tokens){ .count = script->monitors.conditions[i].initial };
		queue_clear(&sim->tokens[i].sleepers);
	}
	for (size_t i = 0; i < script->semaphore_count; i++) {
		sim->semaphores[i].count = script->permits[i];
		sim->semaphores[i].owed = script->owed_permits[i];
		queue_clear(&sim->semaphores[i].sleepers);
	}
	for (size_t i = 0; i < script->barrier_count; i++) {
		sim->barriers[i].count = 0;
		queue_clear(&sim->barriers[i].sleepers);
	}
	for (size_t i = 0; i < script->looks.count; i++) {
		sim->sights[i].is_there = false;
		queue_clear(&sim->sights[i].sleepers);
	}
	for (size_t i = 0; i < script->circle_count; i++) {
		sim->circles[i] = (struct circle){ .begun = 0 };
		queue_clear(&sim->circles[i].due);
		queue_clear(&sim->circles[i].late);
		queue_clear(&sim->circles[i].maker);
	}
	memset(sim->next_piece, 0, script->round_count * sizeof(*sim->next_piece));
	for (size_t i = 0; i < script->flows.flow_count; i++) {
		sim->channels[i] = (struct channel){ .written = script->flows.flows[i].initial };
		queue_clear(&sim->channels[i].readers);
		queue_clear(&sim->channels[i].writers);
	}
	simulate_halts_reset(sim);
	sim->desk.client = NO_INDEX;
	sim->desk.rest_ns = 0;
	queue_clear(&sim->desk.sleepers);
	for (size_t i = 0; i < script->recording->link_count; i++)
		queue_clear(&sim->listeners[i]);
	memset(sim->next_job, 0, script->source_count * sizeof(*sim->next_job));
	for (size_t i = 0; i < script->source_count; i++) {
		sim->handed_count[i] = script->jobs[i].there;
		for (uint32_t k = 0; k < script->jobs[i].there; k++)
			sim->handed[script->jobs[i].first + k] = k;
	}
	memset(sim->is_done, 0, script->job_count * sizeof(*sim->is_done));
	memset(sim->is_put, 0, script->job_count * sizeof(*sim->is_put));
	memset(sim->first_left, 0, script->source_count * sizeof(*sim->first_left));
	memset(sim->is_taken, 0, script->job_count * sizeof(*sim->is_taken));
	for (size_t i = 0; i < script->source_count; i++)
		put_what_is_there(sim, &script->jobs[i]);
	memset(sim->sent, 0xff, script->flows.transfer_count * sizeof(*sim->sent));
	memset(sim->was_given, 0, script->recording->link_count * sizeof(*sim->was_given));
}

void simulate_reset(struct simulation *sim)
{
	const struct script *script = sim->script;

	resources_clear(sim);
	memset(sim->stamp_ns, 0xff, 2 * script->requests.count * sizeof(*sim->stamp_ns));
	memset(sim->timing_ns, 0xff, script->clock_reads.loop_count * sizeof(*sim->timing_ns));
	agenda_clear(&sim->agenda);
	simulate_cpus_reset(sim);
	simulate_loops_reset(sim);
	sim->forced_steps = 0;
	sim->acting = NO_INDEX;
	simulate_bound(sim);
	for (uint32_t i = 0; i < script->actor_count; i++) {
		sim->players[i] =
			(struct player){ .step = script->actors[i].first_step, .job = NO_INDEX };
		queue_clear(&sim->players[i].joiners);
	}
	simulate_stalls_reset(sim);
	for (uint32_t i = 0; i < script->actor_count; i++)
		if (!script->actors[i].is_spawned)
			simulate_start(sim, i, script->actors[i].start_ns);
	simulate_strangers_reset(sim);
}

struct simulation *simulate_new(const struct script *script, const struct machine *machine)
{
	struct simulation *sim = memory_new(1, sizeof(*sim));

	sim->script = script;
	sim->machine = machine;
	sim->factor = memory_new(script->scopes.count, sizeof(*sim->factor));
	sim->lengths.of_scope_ns =
		memory_new(script->scopes.count, sizeof(*sim->lengths.of_scope_ns));
	simulate_lengths_add(&sim->lengths, script);
	sim->players = memory_new(script->actor_count, sizeof(*sim->players));
	sim->locks = memory_new(script->lock_count, sizeof(*sim->locks));
	sim->tokens = memory_new(script->monitors.condition_count, sizeof(*sim->tokens));
	sim->next_job = memory_new(script->source_count, sizeof(*sim->next_job));
	sim->handed = memory_new(script->job_count, sizeof(*sim->handed));
	sim->handed_count = memory_new(script->source_count, sizeof(*sim->handed_count));
	sim->is_done = memory_new(script->job_count, sizeof(*sim->is_done));
	sim->is_put = memory_new(script->job_count, sizeof(*sim->is_put));
	sim->first_left = memory_new(script->source_count, sizeof(*sim->first_left));
	sim->is_taken = memory_new(script->job_count, sizeof(*sim->is_taken));
	sim->sent = memory_new(script->flows.transfer_count, sizeof(*sim->sent));
	sim->semaphores = memory_new(script->semaphore_count, sizeof(*sim->semaphores));
	sim->barriers = memory_new(script->barrier_count, sizeof(*sim->barriers));
	sim->sights = memory_new(script->looks.count, sizeof(*sim->sights));
	sim->circles = memory_new(script->circle_count, sizeof(*sim->circles));
	sim->next_piece = memory_new(script->round_count, sizeof(*sim->next_piece));
	sim->step_of_piece = memory_new(script->piece_count, sizeof(*sim->step_of_piece));
	sim->channels = memory_new(script->flows.flow_count, sizeof(*sim->channels));
	sim->listeners = memory_new(script->recording->link_count, sizeof(*sim->listeners));
	simulate_halts_make(sim);
	sim->was_given = memory_new(script->recording->link_count, sizeof(*sim->was_given));
	sim->stamp_ns = memory_new(2 * script->requests.count, sizeof(*sim->stamp_ns));
	sim->timing_ns = memory_new(script->clock_reads.loop_count, sizeof(*sim->timing_ns));
	sim->taken_ns = memory_new(script->requests.judged_count, sizeof(*sim->taken_ns));
	simulate_loops_find(sim);
	sim->is_crowded = machine_is_crowded(machine, script);
	simulate_strangers_make(sim);
	simulate_cpus_make(sim);
	agenda_make(&sim->agenda, script->actor_count + sim->stranger_count);
	simulate_stalls_make(&sim->stalls, script->actor_count);
	for (size_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];

		if (step->type == STEP_SHARE)
			sim->locks[step->arg].is_shared = true;
		else if (step->type == STEP_PIECE)
			sim->step_of_piece[step->arg] = (uint32_t)i + 1;
	}
	return sim;
}

void simulate_free(struct simulation *sim)
{
	free(sim->factor);
	free(sim->lengths.of_scope_ns);
	free(sim->players);
	free(sim->locks);
	free(sim->tokens);
	free(sim->next_job);
	free(sim->handed);
	free(sim->handed_count);
	free(sim->is_done);
	free(sim->is_put);
	free(sim->is_taken);
	free(sim->first_left);
	free(sim->sent);
	free(sim->semaphores);
	free(sim->barriers);
	free(sim->sights);
	free(sim->circles);
	free(sim->next_piece);
	free(sim->step_of_piece);
	free(sim->channels);
	free(sim->listeners);
	free(sim->was_given);
	simulate_halts_free(sim);
	simulate_loops_free(sim);
	free(sim->stamp_ns);
	free(sim->timing_ns);
	free(sim->taken_ns);
	agenda_free(&sim->agenda);
	simulate_stalls_free(&sim->stalls);
	free(sim->strangers);
	simulate_cpus_free(sim);
	free(sim);
}
