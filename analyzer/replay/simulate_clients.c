/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients that are one thread, in a simulation. It takes them as their answers come, one at a time.
 *
 * A CPU that has been idle for long sleeps deeply: the thread takes a while to be back then.
 *
 * One thread a simulation.
 */
#include "base/assumptions.h"
#include "simulate_parts.h"

#include <assert.h>

static void come_back(struct simulation *sim, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	uint64_t rest_ns = sim->desk.rest_ns;

	if (rest_ns && (sim->wakes_clients || player->now_ns > rest_ns + assume.deep_rest))
		player->now_ns += sim->script->clients.back_ns;
}

bool simulate_come(struct simulation *sim, uint32_t actor)
{
	assert(sim->script->actors[actor].is_client);
	if (sim->desk.client != NO_INDEX && !sim->players[actor].is_forced) {
		simulate_sleep(sim, &sim->desk.sleepers, actor);
		return false;
	}
	if (sim->desk.client == NO_INDEX)
		come_back(sim, actor);
	sim->desk.client = actor;
	return true;
}

void simulate_come_next(struct simulation *sim, uint32_t actor)
{
	if (sim->desk.client != actor)
		return;
	sim->desk.client = sim->desk.sleepers.first;
	sim->desk.rest_ns = sim->players[actor].now_ns;
	simulate_wake_first(sim, &sim->desk.sleepers, sim->players[actor].now_ns, true);
}
