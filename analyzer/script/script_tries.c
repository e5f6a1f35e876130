/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting by trying: a thread that tries a lock, does something else for a while, tries again.
 *
 * Method. The steps between the first try in vain and the next try are the body of a loop. In the
 * replay it goes on until the lock is free. Later rounds are left out, as the replay finds out how
 * many there are. Where the first try succeeded, but tries in vain were seen at the same place, the
 * last loop's body stands in.
 *
 * A body in which the thread does more than let time pass is no waiting: the try is left out. So is
 * one in such a hurry that its rounds cannot be told apart: it becomes an ordinary wait. Where a
 * later round does more, their time stays as it was: the rounds that are left out must matter to no
 * other thread.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "format.h"
#include "script_parts.h"

#include <assert.h>
#include <string.h>

static bool only_passes_time(const struct script *script, size_t from, size_t to, uint64_t *ns)
{
	*ns = 0;
	for (size_t i = from; i < to; i++) {
		uint32_t type = script->steps[i].type;

		if (type != STEP_RUN && type != STEP_DELAY && type != STEP_FIXED &&
		    type != STEP_OVERRUN)
			return false;
		*ns += script->steps[i].ns;
	}
	return true;
}

/* The body is complete. False: it is no loop, and the try is gone. */
static bool loop_ends(struct compiler *compiler)
{
	struct tries *tries = &compiler->thread.tries;
	struct script *script = compiler->script;
	struct step *try = &script->steps[tries->try_step];
	size_t first = tries->try_step + 1u, end = script->step_count;
	uint64_t round_ns;

	assert(try->type == STEP_TRY && end >= first);
	if (only_passes_time(script, first, end, &round_ns) && round_ns >= assume.try_round) {
		tries->last_step = (uint32_t)end;
		try->jump = end - first + 1;
		script_emit(compiler, STEP_AGAIN, 0, end - tries->try_step);
		return true;
	}
	*try = (struct step){ .arg = NO_INDEX, .type = STEP_FIXED };
	*tries = (struct tries){ .lock = NO_INDEX };
	return false;
}

/* The thread never came back for the lock, or not before it came for another: no loop. */
static void try_forget(struct compiler *compiler)
{
	struct tries *tries = &compiler->thread.tries;

	if (tries->is_open && tries->last_step == NO_INDEX)
		compiler->script->steps[tries->try_step] =
			(struct step){ .arg = NO_INDEX, .type = STEP_FIXED };
	*tries = (struct tries){ .lock = NO_INDEX };
}

void script_tries_give_up(struct compiler *compiler)
{
	struct tries *tries = &compiler->thread.tries;
	struct step *steps = compiler->script->steps;

	if (!tries->leaves_out)
		return;
	assert(steps[tries->try_step].type == STEP_TRY &&
	       steps[tries->last_step].type == STEP_AGAIN);
	steps[tries->try_step] = (struct step){ .arg = NO_INDEX, .type = STEP_FIXED };
	steps[tries->last_step] =
		(struct step){ .arg = NO_INDEX,
			       .type = STEP_FIXED,
			       .ns = compiler->thread.now_ns - tries->left_out_from_ns };
	compiler->thread.is_skipping = false;
	*tries = (struct tries){ .lock = NO_INDEX };
}

void script_tries_end(struct compiler *compiler)
{
	script_tries_give_up(compiler);
	try_forget(compiler);
}

void script_tries_drop(struct script *script, uint32_t actor)
{
	assert(actor < script->actor_count);
	for (size_t i = script->actors[actor].first_step; i < script->step_count; i++)
		if (script->steps[i].type == STEP_TRY &&
		    script->steps[i].jump >= script->step_count - i)
			script->steps[i] = (struct step){ .arg = NO_INDEX, .type = STEP_FIXED };
}

bool script_try_failed(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];
	struct tries *tries = &compiler->thread.tries;

	if (!rec_is_try(compiler->rec, wait))
		return false;
	if (rec_is_file_lock(wait->address))
		return true; /* infer/looks.h has the rows of sleeps */
	uint32_t lock =
		addresses_find(&compiler->releases->locks, compiler->thread.process, wait->address);
	if (lock == NO_INDEX)
		return true;
	if (tries->is_open && tries->lock == lock) {
		if (tries->last_step == NO_INDEX && loop_ends(compiler)) {
			compiler->thread.is_skipping = tries->leaves_out = true;
			tries->left_out_from_ns = compiler->thread.now_ns;
		}
		return true;
	}
	script_tries_give_up(compiler);
	if (compiler->thread.is_skipping)
		return true;
	try_forget(compiler);
	*tries = (struct tries){ lock, wait->stack, (uint32_t)compiler->script->step_count,
				 NO_INDEX, .is_open = true };
	script_emit(compiler, STEP_TRY, lock, 0);
	return true;
}

/* The loop once more, for a lock that was had at the first try. */
static void loop_again(struct compiler *compiler)
{
	const struct tries *tries = &compiler->thread.tries;

	assert(tries->try_step < tries->last_step &&
	       tries->last_step < compiler->script->step_count);
	for (uint32_t i = tries->try_step; i <= tries->last_step; i++) {
		struct step step = compiler->script->steps[i];

		script_emit(compiler, (enum step_type)step.type, step.arg, step.ns);
	}
}

bool script_try_gained(struct compiler *compiler, uint32_t hold)
{
	struct tries *tries = &compiler->thread.tries;
	uint32_t lock = compiler->releases->lock_of[hold];

	if (tries->lock != lock || lock == NO_INDEX)
		return false;
	if (tries->is_open) {
		bool was_skipping = tries->last_step != NO_INDEX;

		if (!was_skipping && !loop_ends(compiler))
			return false;
		tries->is_open = tries->leaves_out = false;
		compiler->thread.is_skipping = was_skipping ? false : compiler->thread.is_skipping;
		return true;
	}
	if (compiler->thread.is_skipping || compiler->rec->extras[hold].stack != tries->stack)
		return false;
	loop_again(compiler);
	return true;
}
