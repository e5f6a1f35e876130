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

#include "base/memory.h"

#include <assert.h>
#include <math.h>

/* Long enough for a replay to be fast, and short against how long threads wait for a CPU else. */
static const uint64_t PERIOD_NS = 20000000;

static uint64_t window_start_ns(const struct others_there *there, size_t window)
{
	return window ? there->windows[window - 1].end_ns : there->start_ns;
}

/* To the next period in which others used a CPU. */
static void go_to_next_period(const struct others_there *there, struct stranger *stranger)
{
	do {
		const struct others_window *window = &there->windows[stranger->window];

		stranger->at_ns += PERIOD_NS;
		if (window->cpus > 0 && stranger->at_ns < window->end_ns)
			continue;
		stranger->window = (stranger->window + 1) % there->window_count;
		stranger->at_ns = window_start_ns(there, stranger->window);
		if (!stranger->window)
			stranger->before_ns +=
				there->windows[there->window_count - 1].end_ns - there->start_ns;
	} while (!(there->windows[stranger->window].cpus > 0));
}

static double run_ns(const struct others *others, const struct stranger *stranger)
{
	const struct others_window *window =
		&others->there[stranger->kernel].windows[stranger->window];
	uint64_t left_ns = window->end_ns - stranger->at_ns;

	return others_part(window->cpus, stranger->number) * fmin(others->pressure, 1) *
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

void simulate_strangers_make(struct simulation *sim)
{
	const struct others *others = &sim->script->others;
	bool has_any = sim->is_crowded && sim->machine->has_others;

	sim->stranger_count = has_any ? others->stranger_count : 0;
	sim->strangers = memory_new(sim->stranger_count, sizeof(*sim->strangers));
	for (uint32_t i = 0, k = 0; has_any && k < others->kernel_count; k++)
		for (uint32_t number = 0; number < others->there[k].stranger_count; number++)
			sim->strangers[i++] = (struct stranger){ .kernel = k, .number = number };
}

void simulate_strangers_reset(struct simulation *sim)
{
	const struct others *others = &sim->script->others;
	double weight = heaviest(sim->script) * fmax(others->pressure, 1);

	for (uint32_t i = 0; i < sim->stranger_count; i++) {
		uint32_t actor = (uint32_t)sim->script->actor_count + i;
		struct stranger *stranger = &sim->strangers[i];

		stranger->at_ns = others->there[stranger->kernel].start_ns;
		stranger->before_ns = 0;
		stranger->window = 0;
		if (sim->has_queues)
			runqueues_weigh(&cpus_of(sim, actor)->queues, sim->users[actor].number,
					weight);
		agenda_add(&sim->agenda, actor, stranger->at_ns);
	}
}

static void comes(struct simulation *sim, struct turn turn)
{
	const struct stranger *stranger = &sim->strangers[turn.actor - sim->script->actor_count];

	simulate_cpus_enter(sim, turn.at_ns, turn.actor, run_ns(&sim->script->others, stranger));
}

static void goes(struct simulation *sim, struct turn turn)
{
	struct stranger *stranger = &sim->strangers[turn.actor - sim->script->actor_count];

	go_to_next_period(&sim->script->others.there[stranger->kernel], stranger);
	uint64_t next_ns = stranger->before_ns + stranger->at_ns;
	if (next_ns <= turn.at_ns) {
		comes(sim, turn);
		return;
	}
	if (sim->has_queues)
		runqueues_off(&cpus_of(sim, turn.actor)->queues, turn.at_ns,
			      sim->users[turn.actor].number);
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
