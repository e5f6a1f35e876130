/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Halts in a simulation: an actor stops others, wherever they are, and lets them go on.
 *
 * An actor that is halted stops before its next step, and sleeps until the signal. In the world it
 * stops in the middle of a run, and here at the run's end. A run that ends when the halt is over is
 * late by it, but for as long as the actor ran on in the recording. An actor that waits for
 * something else all the time does not notice. Which actors a halt stops is as recorded. One thread
 * a simulation.
 */
#include "simulate_halts.h"

#include "base/memory.h"
#include "simulate_parts.h"

#include <assert.h>
#include <stdlib.h>

/* A halt. */
struct gate {
	struct queue sleepers;
	uint64_t closed_ns;
};

void simulate_halts_make(struct simulation *sim)
{
	sim->gates = memory_new(sim->script->halts.count, sizeof(*sim->gates));
}

void simulate_halts_free(struct simulation *sim)
{
	free(sim->gates);
}

void simulate_halts_reset(struct simulation *sim)
{
	for (size_t i = 0; i < sim->script->halts.count; i++)
		sim->gates[i].sleepers = (struct queue){ NO_INDEX, NO_INDEX };
}

static const struct halt *halt_of(const struct simulation *sim, uint32_t link)
{
	const struct halts *halts = &sim->script->halts;
	uint32_t index = halts->count ? halts->of_link[link] : NO_INDEX;

	return index == NO_INDEX ? NULL : &halts->halts[index];
}

/* A run that nobody shares a CPU with is passed over at once, and then its actor is in the agenda.
 */
static bool is_running(const struct simulation *sim, const struct player *player)
{
	return player->cpu != PLAYER_OFF || (!sim->is_crowded && !player->sleeps_in);
}

void simulate_halt(struct simulation *sim, uint32_t link, uint32_t actor)
{
	const struct halts *halts = &sim->script->halts;
	const struct halt *halt = halt_of(sim, link);

	assert(halt);
	if (sim->was_given[link])
		return;
	uint32_t index = (uint32_t)(halt - halts->halts);

	sim->gates[index].closed_ns = sim->players[actor].now_ns;
	for (uint32_t i = 0; i < halt->count; i++) {
		struct player *player = &sim->players[halts->halted[halt->first + i].thread];

		if (player->life != PLAYER_STARTED || player->halt.number)
			continue;
		player->halt.number = index + 1;
		player->halt.ran_on = is_running(sim, player);
	}
}

/* By how much its run ends later than without the halt. */
static uint64_t late_ns(const struct halted *halted, uint64_t halt_ns)
{
	return halt_ns > halted->ran_on_ns ? halt_ns - halted->ran_on_ns + halted->latency_ns : 0;
}

static void goes_on(struct simulation *sim, const struct halted *halted, uint64_t now_ns)
{
	uint32_t actor = halted->thread;
	uint64_t back_ns = now_ns + halted->latency_ns;

	simulate_leave_queue(sim, actor);
	if (sim->trace)
		trace_woken(sim->trace, actor, sim->players[actor].step, sim->acting, now_ns,
			    back_ns);
	agenda_add(&sim->agenda, actor, back_ns);
}

void simulate_halt_ends(struct simulation *sim, uint32_t link, uint32_t actor)
{
	const struct halts *halts = &sim->script->halts;
	const struct halt *halt = halt_of(sim, link);
	uint64_t now_ns = sim->players[actor].now_ns;

	if (!halt)
		return;
	struct gate *gate = &sim->gates[halt - halts->halts];

	for (uint32_t i = 0; i < halt->count; i++) {
		const struct halted *halted = &halts->halted[halt->first + i];
		struct player *player = &sim->players[halted->thread];

		if (player->halt.number != (uint32_t)(halt - halts->halts) + 1)
			continue;
		player->halt.number = 0;
		if (player->sleeps_in == &gate->sleepers)
			goes_on(sim, halted, now_ns);
		else if (player->halt.ran_on)
			player->halt.late_ns += late_ns(halted, now_ns - gate->closed_ns);
	}
}

bool simulate_is_halted(struct simulation *sim, struct turn turn)
{
	struct player *player = &sim->players[turn.actor];
	struct player_halt *halt = &player->halt;
	uint64_t owed_ns = halt->late_ns;

	player->now_ns = turn.at_ns;
	halt->late_ns = 0;
	if (player->is_forced && halt->number) {
		player->is_forced = false;
		halt->number = 0;
	}
	if (halt->number)
		simulate_sleep(sim, &sim->gates[halt->number - 1].sleepers, turn.actor);
	else if (owed_ns)
		agenda_add(&sim->agenda, turn.actor, turn.at_ns + owed_ns);
	return halt->number || owed_ns;
}
