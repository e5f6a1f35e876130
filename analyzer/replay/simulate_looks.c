/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of sleeps and looks in a simulation, until another actor has got somewhere.
 *
 * A look finds what was reached before it. Rounds that take no time are none: the actor sleeps then
 * until it is there. One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

/* The rounds of a loop only let time pass: they never let another actor go on. */
static bool is_going(const struct player *player)
{
	return player->life == PLAYER_STARTED && !player->sleeps_in && !player->rounds;
}

bool simulate_is_hopeless(const struct simulation *sim, struct player *player)
{
	if (++player->rounds % ROUNDS_A_LOOK)
		return false;
	for (size_t i = 0; i < sim->script->actor_count; i++)
		if (is_going(&sim->players[i]))
			return false;
	return true;
}

bool simulate_look(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->looks.count);
	struct player *player = &sim->players[actor];
	struct sight *sight = &sim->sights[step->arg];
	bool is_last = step[1].type == STEP_AGAIN;

	if (sight->is_there || player->is_forced) {
		player->rounds = 0;
		player->step += (uint32_t)step->jump;
		return true;
	}
	if (!is_last)
		return true;
	if (player->tried_ns == player->now_ns || simulate_is_hopeless(sim, player)) {
		simulate_sleep(sim, &sight->sleepers, actor);
		return false;
	}
	player->tried_ns = player->now_ns;
	return true;
}

void simulate_reach(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->looks.count);
	struct sight *sight = &sim->sights[step->arg];

	sight->is_there = true;
	simulate_wake_all(sim, &sight->sleepers, sim->players[actor].now_ns, false);
}
