/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts, joins and ends of threads in a simulation, and their runs on CPUs.
 *
 * One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

void simulate_start(struct simulation *sim, uint32_t actor, uint64_t at_ns)
{
	assert(actor < sim->script->actor_count);
	struct player *player = &sim->players[actor];

	if (player->life != PLAYER_TO_START)
		return;
	player->life = PLAYER_STARTED;
	if (sim->trace)
		trace_woken(sim->trace, actor, player->step, sim->acting,
			    sim->acting == NO_INDEX ? at_ns : sim->players[sim->acting].now_ns,
			    at_ns);
	agenda_add(&sim->agenda, actor, at_ns);
}

static bool join(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->actor_count);
	struct player *joined = &sim->players[step->arg];

	if (joined->life == PLAYER_DONE || sim->players[actor].is_forced)
		return true;
	simulate_sleep(sim, &joined->joiners, actor);
	return false;
}

/* The step that takes: a take comes after the lock that it needs. */
static const struct step *take_from(const struct simulation *sim, uint32_t index)
{
	const struct step *step = &sim->script->steps[index];

	return step->type == STEP_ACQUIRE ? step + 1 : step;
}

static void finish(struct simulation *sim, struct player *player, uint64_t now_ns)
{
	assert(player->life == PLAYER_STARTED && !player->sleeps_in);
	player->life = PLAYER_DONE;
	sim->stalls.unfinished -= sim->script->actors[player - sim->players].counts;
	simulate_wake_all(sim, &player->joiners, now_ns, true);
}

/* True: it goes on, with jobs that are left as an actor was not there that did them. */
static bool end(struct simulation *sim, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	uint32_t take_step = sim->script->actors[actor].take_step;

	if (take_step != NO_INDEX && !simulate_jobs_are_done(sim, take_from(sim, take_step))) {
		player->step = take_step;
		return true;
	}
	finish(sim, player, player->now_ns);
	return false;
}

bool simulate_life(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	bool goes_on = true;

	if (step->type == STEP_END) {
		simulate_job_ends(sim, actor);
		return end(sim, actor);
	}
	if (step->type == STEP_SPAWN)
		simulate_start(sim, step->arg, player->now_ns + step->ns);
	else if (step->type == STEP_JOIN)
		goes_on = join(sim, step, actor);
	else
		player->finish_ns = player->now_ns;
	player->step += goes_on;
	return goes_on;
}

bool simulate_retire(struct simulation *sim, uint32_t actor, uint64_t now_ns)
{
	struct player *player = &sim->players[actor];

	if (player->life != PLAYER_STARTED ||
	    !simulate_jobs_are_done(sim, simulate_step_of(sim, actor)))
		return false;
	simulate_leave_queue(sim, actor);
	player->finish_ns = player->now_ns;
	finish(sim, player, now_ns);
	return true;
}

bool simulate_run(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	uint64_t ns = simulate_scaled_ns(sim, player, step), run_ns = simulate_run_ns(player, ns);

	assert(sim->is_crowded && player->cpu == PLAYER_OFF);
	player->cpu = PLAYER_RUNNING;
	simulate_paid(player, ns);
	simulate_cpus_enter(sim, player->now_ns, actor, (double)run_ns);
	return false;
}
