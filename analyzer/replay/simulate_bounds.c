/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a simulation may go: a replay that nothing ends is stopped, and says which thread it was.
 *
 * Method. Both bounds follow from the script. If only one actor went on at a time, all would be
 * done after the sum of all lengths: none that gets on takes longer. Actors that go round
 * trying a lock use CPUs which others need; then each has only its part of them. A step is done
 * once, but for rounds and for jobs that are dealt out in smaller parts. The recording has no more
 * of these than steps and waits.
 *
 * One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>
#include <math.h>

/* Margins: costs that the sum does not have, and how often steps of a job are done again. */
static const double SERIAL_TIMES = 4;
enum { STEPS_TIMES = 64, STEPS_FLOOR = 1 << 24 };
static const double STEPS_MOST = 1e9; /* half a minute */
static const double NS_MOST = 9e18;

/* How long it takes to go round once, from a try or look to the next one. */
static double round_ns(const struct step *again)
{
	double ns = 0;

	for (const struct step *step = again - again->jump + 1; step < again; step++)
		if (script_contract((enum step_type)step->type)->number == NUMBER_LENGTH)
			ns += (double)step->ns;
	return ns;
}

void simulate_lengths_add(struct lengths *lengths, const struct script *script)
{
	for (size_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];
		const struct step_contract *contract = script_contract((enum step_type)step->type);

		if (step->type == STEP_AGAIN)
			lengths->round_ns = fmax(lengths->round_ns, round_ns(step));
		if ((contract->number == NUMBER_LENGTH || contract->number == NUMBER_TIME) &&
		    contract->operand == OPERAND_SCOPE)
			lengths->of_scope_ns[step->arg] += (double)step->ns;
		else if (contract->number != NUMBER_NONE && contract->number != NUMBER_JOB &&
			 contract->number != NUMBER_JUMP)
			lengths->fixed_ns += (double)step->ns;
	}
	for (size_t i = 0; i < script->actor_count; i++)
		if (script->actors[i].start_ns > lengths->last_ns)
			lengths->last_ns = script->actors[i].start_ns;
	lengths->fixed_ns +=
		(double)script->step_count *
		(double)(script->sleep_run_ns + script->lock_latency_ns + assume.crossing +
			 assume.crossing_run + assume.crossing_most + assume.crossing_run_most);
}

/* One after the other, each on what there is of a CPU. Rounds in vain are noticed after some. */
static double serial_ns(const struct simulation *sim)
{
	double ns = sim->lengths.fixed_ns, factor_max = 1, cpus = 1;
	double others = sim->stranger_count * fmax(sim->script->others.pressure, 1);

	for (size_t i = 0; i < sim->script->scopes.count; i++) {
		ns += sim->lengths.of_scope_ns[i] * sim->factor[i];
		factor_max = fmax(factor_max, sim->factor[i]);
	}
	ns += sim->lengths.round_ns * factor_max * ROUNDS_A_LOOK;
	ns *= 1 + others;
	for (uint32_t k = 0; k < sim->kernel_count; k++)
		cpus = fmin(cpus, machine_cpus_of(sim->machine, sim->script, k));
	return ns / cpus;
}

void simulate_bound(struct simulation *sim)
{
	const struct script *script = sim->script;
	double actors =
		sim->lengths.round_ns > 0 && sim->is_crowded ? (double)script->actor_count : 1;
	double ns = (double)sim->lengths.last_ns + SERIAL_TIMES * actors * serial_ns(sim);
	double steps = (double)(script->step_count + script->recording->wait_count);
	double ticks = sim->is_crowded ? ns / (double)sim->machine->tick_ns : 0;

	assert(ns >= 0 && steps >= 0);
	sim->bound_ns = (uint64_t)fmin(ns, NS_MOST);
	sim->steps_left = (uint64_t)fmin(STEPS_TIMES * (steps + ticks) + STEPS_FLOOR, STEPS_MOST);
	sim->ran_away = false;
}

/* The actor that has gone round most often; where none goes round, the one whose turn it was. */
void simulate_run_away(struct simulation *sim, uint32_t actor)
{
	for (uint32_t i = 0; i < sim->script->actor_count; i++)
		if (sim->players[i].life == PLAYER_STARTED &&
		    sim->players[i].rounds > sim->players[actor].rounds)
			actor = i;
	sim->ran_away = true;
	sim->stuck = (struct replay_place){ actor, sim->players[actor].step };
}
