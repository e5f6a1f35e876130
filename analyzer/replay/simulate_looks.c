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

/* All that the row found locked is free now, or the actor's own. */
static bool are_free(const struct simulation *sim, const struct look_row *row, uint32_t actor)
{
	const struct look_lock *locks = sim->script->looks.locks + row->first_lock;

	for (uint32_t i = 0; i < row->lock_count; i++) {
		const struct lock *lock =
			locks[i].lock == NO_INDEX ? NULL : &sim->locks[locks[i].lock];
		if (lock && lock->owner != actor &&
		    (lock->owner != NO_INDEX ||
		     (!locks[i].is_read && lock->reader_count > locks[i].has_share)))
			return false;
	}
	return true;
}

uint64_t simulate_nap_ns(const struct simulation *sim, const struct player *player,
			 const struct step *delay)
{
	const struct looks *looks = &sim->script->looks;
	const struct look_row *row = &looks->rows[player->row - 1];
	bool is_its = sim->script->scopes.scopes[delay->arg].leaf == row->class;
	double times = is_its ? looks_growth(looks, row, player->rounds) : 1;

	return (uint64_t)((double)simulate_scaled_ns(sim, player, delay) * times);
}

static bool go_on(struct player *player, const struct step *look)
{
	player->rounds = 0;
	player->row = 0;
	player->step += (uint32_t)look->jump;
	return true;
}

bool simulate_guesses_rounds(const struct script *script)
{
	for (size_t i = 0; i < script->looks.count; i++)
		if (script->looks.rows[i].is_guess && script->looks.rows[i].sort == LOOK_TOLD)
			return true;
	return false;
}

/* It is not known that anything stops the rounds: they are as many. */
static bool are_kept(const struct simulation *sim, const struct step *look)
{
	return sim->keeps_timeouts && sim->script->looks.rows[look->arg].is_guess;
}

static bool go_round(struct player *player, const struct step *look)
{
	player->tried_ns = player->now_ns;
	if (player->rounds)
		player->row = 1 + look->arg;
	return true;
}

/* A row for locks: as soon as rounds take no time, its thread waits for the first one as others
 * do. */
static bool look_at_locks(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	bool is_last = step[1].type == STEP_AGAIN;

	if (are_free(sim, &sim->script->looks.rows[step->arg], actor) || player->is_forced ||
	    (is_last && (player->tried_ns == player->now_ns || simulate_is_hopeless(sim, player))))
		return go_on(player, step);
	return go_round(player, step);
}

bool simulate_look(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->looks.count);
	struct player *player = &sim->players[actor];
	struct sight *sight = &sim->sights[step->arg];
	bool is_last = step[1].type == STEP_AGAIN;

	if (sim->script->looks.rows[step->arg].sort == LOOK_LOCKED)
		return look_at_locks(sim, step, actor);
	if ((sight->is_there && !are_kept(sim, step)) || player->is_forced)
		return go_on(player, step);
	if (!is_last)
		return true;
	if (are_kept(sim, step))
		return go_on(player, step);
	if (player->tried_ns == player->now_ns || simulate_is_hopeless(sim, player)) {
		simulate_sleep(sim, &sight->sleepers, actor);
		return false;
	}
	return go_round(player, step);
}

void simulate_reach(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->looks.count);
	struct sight *sight = &sim->sights[step->arg];

	sight->is_there = true;
	simulate_wake_all(sim, &sight->sleepers, sim->players[actor].now_ns, false);
}
