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

bool simulate_interact(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];
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
		simulate_lock_release(sim, step, actor);
		break;
	case STEP_AGAIN: /* jump: steps to go back */
		assert(step[-(ptrdiff_t)step->jump].type == STEP_TRY);
		player->step -= (uint32_t)step->jump;
		return true;
	case STEP_TAKE: /* arg condition, ns latency; sets the next step */
		return simulate_take(sim, step, actor);
	case STEP_PUT: /* arg condition */
		simulate_put(sim, step, actor);
		break;
	case STEP_SIGNAL: /* arg link */
		player->woke = simulate_signal(sim, step, actor);
		break;
	case STEP_AFTER: /* arg link, ns latency */
		goes_on = simulate_listen(sim, step, actor);
		break;
	case STEP_PERMIT: /* arg semaphore, ns latency; sets the next step */
	case STEP_CLAIM:
		return simulate_permit(sim, step, actor);
	case STEP_POST: /* arg semaphore */
		simulate_post(sim, step, actor);
		break;
	case STEP_BARRIER: /* arg barrier, ns latency */
		goes_on = simulate_meet(sim, step, actor);
		break;
	case STEP_SEND: /* arg transfer, a write */
		goes_on = simulate_send(sim, step, actor);
		break;
	case STEP_RECEIVE: /* arg transfer, a read; ns latency; sets the next step */
		return simulate_receive(sim, step, actor);
	case STEP_AWAIT: /* arg transfer, a read; ns latency */
		goes_on = simulate_await(sim, step, actor);
		break;
	case STEP_SPAWN: /* arg actor, ns latency */
		simulate_start(sim, step->arg, player->now_ns + step->ns);
		break;
	case STEP_JOIN: /* arg actor, ns latency */
		goes_on = simulate_join(sim, step, actor);
		break;
	case STEP_MARK: /* no operands */
		player->finish_ns = player->now_ns;
		break;
	case STEP_END: /* no operands; sets the next step */
		return simulate_end(sim, actor);
	case STEP_WAKING: /* arg scope, ns length; the end of the run sets the next step */
	case STEP_RUN:
		simulate_run(sim, step, actor);
		return false;
	case STEP_DELAY:
	case STEP_FIXED:
	case STEP_OVERRUN:
	case STEP_UNTIL:
	case STEP_STAMP:
		assert(!"run_alone() runs steps that concern nobody else");
	}
	player->step += goes_on;
	return goes_on;
}
