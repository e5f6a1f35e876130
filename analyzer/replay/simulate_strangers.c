/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other programs on the CPUs of a replay. They are strangers, each of which uses its part of what
 * others used in the recording, a little in each of short periods.
 *
 * They are on CPUs and in the agenda by numbers above those of all actors, and nothing else is
 * known of them. One that does not get what it wants goes on with it in the next period. After the
 * recorded time the same use begins anew. One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>
#include <math.h>

/* Long enough for a replay to be fast, and short against how long threads wait for a CPU else. */
static const uint64_t PERIOD_NS = 20000000;

static uint64_t window_start_ns(const struct others *others, size_t window)
{
	return window ? others->windows[window - 1].end_ns : others->start_ns;
}

/* To the next period in which others used a CPU. */
static void go_to_next_period(const struct others *others, struct stranger *stranger)
{
	do {
		const struct others_window *window = &others->windows[stranger->window];

		stranger->at_ns += PERIOD_NS;
		if (window->cpus > 0 && stranger->at_ns < window->end_ns)
			continue;
		stranger->window = (stranger->window + 1) % others->window_count;
		stranger->at_ns = window_start_ns(others, stranger->window);
		if (!stranger->window)
			stranger->before_ns +=
				others->windows[others->window_count - 1].end_ns - others->start_ns;
	} while (!(others->windows[stranger->window].cpus > 0));
}

static double run_ns(const struct others *others, const struct stranger *stranger, uint32_t number)
{
	const struct others_window *window = &others->windows[stranger->window];
	uint64_t left_ns = window->end_ns - stranger->at_ns;

	return others_part(window->cpus, number) * fmin(others->pressure, 1) *
	       (double)(left_ns < PERIOD_NS ? left_ns : PERIOD_NS);
}

/* Of recorded threads. How nice these are does not count against other sessions or containers. */
static double heaviest(const struct script *script)
{
	double most = 0;

	for (size_t i = 0; i < script_recorded_actors(script); i++)
		most = fmax(most, script->actors[i].weight);
	return most;
}

void simulate_strangers_reset(struct simulation *sim)
{
	const struct others *others = &sim->script->others;
	double weight = heaviest(sim->script) * fmax(others->pressure, 1);

	for (uint32_t i = 0; i < sim->stranger_count; i++) {
		uint32_t actor = (uint32_t)sim->script->actor_count + i;

		sim->strangers[i] = (struct stranger){ .at_ns = others->start_ns };
		if (sim->has_queues)
			runqueues_weigh(&sim->queues, actor, weight);
		agenda_add(&sim->agenda, actor, others->start_ns);
	}
}

static void comes(struct simulation *sim, struct turn turn)
{
	uint32_t number = turn.actor - (uint32_t)sim->script->actor_count;
	double ns = run_ns(&sim->script->others, &sim->strangers[number], number);

	if (sim->has_queues)
		runqueues_enter(&sim->queues, turn.at_ns, turn.actor, ns);
	else
		crowd_enter(&sim->crowd, turn.at_ns, turn.actor, (uint64_t)ns);
}

static void goes(struct simulation *sim, struct turn turn)
{
	struct stranger *stranger = &sim->strangers[turn.actor - sim->script->actor_count];

	go_to_next_period(&sim->script->others, stranger);
	uint64_t next_ns = stranger->before_ns + stranger->at_ns;
	if (next_ns <= turn.at_ns) {
		comes(sim, turn);
		return;
	}
	if (sim->has_queues)
		runqueues_off(&sim->queues, turn.at_ns, turn.actor);
	agenda_add(&sim->agenda, turn.actor, next_ns);
}

void simulate_stranger_turn(struct simulation *sim, struct turn turn, bool has_run)
{
	assert(turn.actor - sim->script->actor_count < sim->stranger_count);
	if (has_run)
		goes(sim, turn);
	else
		comes(sim, turn);
}
