/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients that are one thread, in a simulation. It takes them as their answers come, one at a time.
 *
 * One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

bool simulate_come(struct simulation *sim, uint32_t actor)
{
	assert(sim->script->actors[actor].is_client);
	if (sim->desk.client != NO_INDEX && !sim->players[actor].is_forced) {
		simulate_sleep(sim, &sim->desk.sleepers, actor);
		return false;
	}
	sim->desk.client = actor;
	return true;
}

void simulate_come_next(struct simulation *sim, uint32_t actor)
{
	if (sim->desk.client != actor)
		return;
	sim->desk.client = sim->desk.sleepers.first;
	simulate_wake_first(sim, &sim->desk.sleepers, sim->players[actor].now_ns, true);
}
