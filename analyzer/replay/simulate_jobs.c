/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of pools: where a take goes on.
 *
 * A take from a source that has jobs goes on with the next one in recorded order, whichever thread
 * did it then. A read of a message goes on with the job that was in it. So does a take from a queue
 * of which is known who put which job: with that which was put first. When there are no more
 * jobs, an actor goes on behind its own last take. One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

/* Of those that are there, the one that was taken first in the recording; NO_INDEX = none. */
static uint32_t first_there(const struct simulation *sim, uint32_t source)
{
	const struct job_list *jobs = &sim->script->jobs[source];
	uint32_t *left = &sim->first_left[source];

	while (*left < jobs->count && sim->is_taken[jobs->first + *left])
		++*left;
	for (uint32_t n = *left; n < jobs->count; n++)
		if (sim->is_put[jobs->first + n] && !sim->is_taken[jobs->first + n])
			return n;
	return NO_INDEX;
}

/* Which job of its source a take gets: the next one, or the one in the message; NO_INDEX = none. */
static uint32_t job_number(const struct simulation *sim, const struct step *step, uint32_t actor)
{
	const struct script *script = sim->script;

	if (step->type == STEP_RECEIVE) {
		const struct transfer *transfer = &script->flows.transfers[step->arg];
		const struct message_room *room = &script->messages.rooms[transfer->flow];

		if (room->count) {
			uint64_t number = sim->players[actor].needed / transfer->bytes - 1;

			return number < room->count ? sim->sent[room->first + number] : NO_INDEX;
		}
	}
	uint32_t source = script_source(script, step), next = sim->next_job[source];
	const struct job_list *jobs = &script->jobs[source];

	if (!jobs->is_handed_over)
		return next;
	if (sim->takes_latest && jobs->latest)
		return first_there(sim, source);
	return next < sim->handed_count[source] ? sim->handed[jobs->first + next] : NO_INDEX;
}

void simulate_hand_over(struct simulation *sim, const struct step *step)
{
	uint32_t source = step->job ? script_put_source(sim->script, step) : NO_INDEX;

	if (source == NO_INDEX || sim->handed_count[source] == sim->script->jobs[source].count)
		return;
	const struct job_list *jobs = &sim->script->jobs[source];
	uint32_t job = (uint32_t)step->job - 1;

	if (sim->takes_latest && jobs->latest)
		job = jobs->latest[job];
	sim->handed[jobs->first + sim->handed_count[source]++] = job;
	sim->is_put[jobs->first + job] = true;
}

void simulate_job_ends(struct simulation *sim, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	uint32_t job = player->job;

	if (job == NO_INDEX)
		return;
	player->job = NO_INDEX;
	sim->is_done[job] = true;
	simulate_loop_may_answer(sim, job, player->now_ns);
}

void simulate_comes_for_job(struct simulation *sim, const struct step *step, uint32_t actor)
{
	if (sim->players[actor].job != NO_INDEX &&
	    sim->script->jobs[script_source(sim->script, step)].count)
		simulate_job_ends(sim, actor);
}

/* Returns its number among those of its source. */
static uint32_t take_job(struct simulation *sim, uint32_t source)
{
	uint32_t number = sim->next_job[source]++;

	sim->stalls.is_source_done |= sim->next_job[source] == sim->script->jobs[source].count;
	return number;
}

uint32_t simulate_next_job(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	uint32_t source = script_source(sim->script, step);
	uint32_t last_body = sim->script->actors[actor].last_body;

	assert(source < sim->script->source_count);
	const struct job_list *jobs = &sim->script->jobs[source];
	uint32_t number = jobs->count ? job_number(sim, step, actor) : NO_INDEX;

	if (number < jobs->count) {
		take_job(sim, source);
		sim->is_taken[jobs->first + number] = true;
		player->job = jobs->first + number;
		return jobs->steps[number];
	}
	if (jobs->count && last_body != NO_INDEX && !player->has_left) {
		player->has_left = true;
		return last_body;
	}
	return player->step + 1;
}

uint32_t simulate_next_batch(struct simulation *sim, const struct step *step, uint32_t actor,
			     uint32_t items)
{
	struct tokens *tokens = &sim->tokens[step->arg];
	struct player *player = &sim->players[actor];
	const struct job_list *jobs = &sim->script->jobs[step->arg];
	uint32_t last_body = sim->script->actors[actor].last_body;

	assert(step->type == STEP_TAKE && jobs->items);
	player->batch = (struct batch){ jobs->cost_of, items, jobs->last_items };
	bool is_last = !items || (jobs->last_items && tokens->taken >= jobs->all_items);
	if (last_body != NO_INDEX && is_last && !player->has_left) {
		player->has_left = true;
		return last_body;
	}
	/* Nothing is left, and it has no way out of its own: it would take nothing for ever. */
	if (!jobs->count || (!items && sim->next_job[step->arg] >= jobs->count))
		return player->step + 1;
	uint32_t number = sim->next_job[step->arg] < jobs->count ? take_job(sim, step->arg)
								 : (uint32_t)jobs->count - 1;
	player->batch.recorded_items = jobs->items[number];
	return jobs->steps[number];
}

bool simulate_jobs_are_done(const struct simulation *sim, const struct step *step)
{
	uint32_t source = script_source(sim->script, step);

	return source != NO_INDEX && sim->script->jobs[source].count &&
	       sim->next_job[source] >= sim->script->jobs[source].count;
}
