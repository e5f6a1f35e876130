/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits with a timeout in a simulation: the timeout or the event, whichever comes first.
 *
 * An actor that races sleeps in the queue of the event, and has a turn when its timeout has passed.
 * The first of both takes the other one away. An event that only cuts a timeout short has no other
 * effect, and where timeouts are kept it has none. One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

const struct step *simulate_raced(const struct step *step)
{
	assert(script_is_race((enum step_type)step->type));
	return step + step->jump;
}

/* Where the event would wake it. */
static struct queue *queue_of(struct simulation *sim, const struct step *wait)
{
	if (wait->type == STEP_AFTER)
		return &sim->listeners[wait->arg];
	if (wait->type == STEP_PERMIT)
		return &sim->semaphores[wait->arg].sleepers;
	return &sim->channels[sim->script->flows.transfers[wait->arg].flow].readers;
}

static bool has_happened(const struct simulation *sim, const struct step *wait)
{
	if (wait->type == STEP_AFTER)
		return sim->was_given[wait->arg];
	if (wait->type == STEP_PERMIT)
		return sim->semaphores[wait->arg].count > 0;
	const struct channel *channel =
		&sim->channels[sim->script->flows.transfers[wait->arg].flow];
	return channel->written > channel->claimed;
}

bool simulate_race(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	const struct step *wait = simulate_raced(step), *timeout = step + 1;

	if (step->type == STEP_CUT && sim->keeps_timeouts) {
		player->step++;
		return true;
	}
	if (has_happened(sim, wait)) {
		player->has_timed_out = false;
		player->step += step->type == STEP_RACE ? (uint32_t)step->jump : 2;
		return true;
	}
	if (player->has_timed_out || player->is_forced) {
		player->has_timed_out = false;
		player->step += 2;
		return true;
	}
	uint64_t ns = timeout->type == STEP_DELAY ? simulate_scaled_ns(sim, player, timeout)
						  : timeout->ns;
	simulate_sleep(sim, queue_of(sim, wait), actor);
	agenda_add(&sim->agenda, actor, player->now_ns + ns);
	return false;
}

void simulate_timeout(struct simulation *sim, uint32_t actor)
{
	struct player *player = &sim->players[actor];

	if (!player->sleeps_in)
		return;
	simulate_leave_queue(sim, actor);
	player->has_timed_out = !player->is_timed;
	assert(player->is_timed ||
	       script_is_race((enum step_type)simulate_step_of(sim, actor)->type));
	player->is_timed = false;
}
