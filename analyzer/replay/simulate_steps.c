/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatches the steps of a script that concern other actors.
 *
 * Each type of step is described in steps.def, and how locks, tokens and bytes are arbitrated, in
 * simulate.c. An actor that cannot go on sleeps in a queue of the thing that it waits for. It is
 * scheduled again when it is woken: to try once more, or to go on where the thing was handed to it
 * (`is_granted`). One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

static bool go_back(struct player *player, const struct step *again)
{
	enum step_type type = (enum step_type)again[-(ptrdiff_t)again->jump].type;

	assert(type == STEP_TRY || type == STEP_LOOK);
	player->step -= (uint32_t)again->jump - (type == STEP_LOOK);
	return true;
}

static void give(struct simulation *sim, const struct step *step, uint32_t actor)
{
	if (step->type == STEP_PUT)
		simulate_put(sim, step, actor);
	else if (step->type == STEP_POST)
		simulate_post(sim, step, actor);
	else if (step->type == STEP_SIGNAL)
		sim->players[actor].woke = simulate_signal(sim, step, actor);
	else if (step->type == STEP_HALT)
		simulate_halt(sim, step->arg, actor);
	else if (step->type == STEP_REACH)
		simulate_reach(sim, step, actor);
	else if (step->type == STEP_LEAVE)
		simulate_come_next(sim, actor);
	else
		simulate_lock_release(sim, step, actor);
}

static bool await(struct simulation *sim, const struct step *step, uint32_t actor)
{
	if (step->type == STEP_YIELD)
		return simulate_yield(sim, step, actor);
	if (step->type == STEP_LOOK)
		return simulate_look(sim, step, actor);
	if (step->type == STEP_COME)
		return simulate_come(sim, actor);
	if (step->type == STEP_AWAIT)
		return simulate_await(sim, step, actor);
	if (step->type == STEP_SEND)
		return simulate_send(sim, step, actor);
	return step->type == STEP_AFTER ? simulate_listen(sim, step, actor)
					: simulate_meet(sim, step, actor);
}

bool simulate_interact(struct simulation *sim, const struct step *step, uint32_t actor)
{
	bool goes_on = true;
	switch ((enum step_type)step->type) {
	case STEP_ACQUIRE: /* arg lock, ns latency */
	case STEP_SHARE:
	case STEP_GRAB:
	case STEP_TRY: /* arg lock, jump: steps to pass over if it is free */
		goes_on = simulate_lock_acquire(sim, step, actor);
		break;
	case STEP_RELEASE: /* arg lock */
	case STEP_UNSHARE:
	case STEP_PUT:    /* arg condition */
	case STEP_POST:   /* arg semaphore */
	case STEP_REACH:  /* arg row of looks */
	case STEP_SIGNAL: /* arg link */
	case STEP_HALT:
	case STEP_LEAVE: /* no operands */
		give(sim, step, actor);
		break;
	case STEP_AGAIN: /* jump: steps to go back */
		return go_back(&sim->players[actor], step);
	case STEP_RACE: /* jump: steps to the wait; sets the next step */
	case STEP_CUT:
		return simulate_race(sim, step, actor);
	case STEP_TAKE: /* arg condition, ns latency; sets the next step */
		return simulate_take(sim, step, actor);
	case STEP_YIELD:   /* arg condition, ns latency */
	case STEP_AFTER:   /* arg link, ns latency */
	case STEP_BARRIER: /* arg barrier, ns latency */
	case STEP_LOOK:    /* arg row of looks, jump: steps to pass over if it is there */
	case STEP_COME:    /* no operands */
	case STEP_AWAIT:   /* arg transfer, a read; ns latency */
	case STEP_SEND:    /* arg transfer, a write */
		goes_on = await(sim, step, actor);
		break;
	case STEP_PERMIT: /* arg semaphore, ns latency; sets the next step */
	case STEP_CLAIM:
		return simulate_permit(sim, step, actor);
	case STEP_TURN: /* arg group; sets the next step */
	case STEP_ASK:  /* too */
	case STEP_BEGUN:
	case STEP_ENDED:
		return simulate_turn(sim, step, actor);
	case STEP_PIECES: /* arg round, jump; sets the next step */
	case STEP_PIECE:  /* arg piece; sets the next step */
	case STEP_NEXT:   /* arg round; sets the next step */
		return simulate_piece(sim, step, actor);
	case STEP_RECEIVE: /* arg transfer, a read; ns latency; sets the next step */
		return simulate_receive(sim, step, actor);
	case STEP_VISIT: /* arg visit, ns latency; sets the next step */
		return simulate_visit(sim, step, actor);
	case STEP_SPAWN: /* arg actor, ns latency */
	case STEP_JOIN:
	case STEP_MARK: /* no operands */
	case STEP_END:  /* no operands; sets the next step */
		return simulate_life(sim, step, actor);
	case STEP_WAKING: /* arg scope, ns length; the end of the run sets the next step */
	case STEP_RUN:
		return simulate_run(sim, step, actor);
	case STEP_DELAY:
	case STEP_FIXED:
	case STEP_OVERRUN:
	case STEP_UNTIL:
	case STEP_TIMED:
	case STEP_TIMING:
	case STEP_SCHEDULE:
	case STEP_STAMP:
		assert(!"run_alone() runs steps that concern nobody else");
	}
	sim->players[actor].step += goes_on;
	return goes_on;
}
