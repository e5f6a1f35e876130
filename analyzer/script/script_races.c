/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits with a timeout, one after the other, until another thread ends one of them. A thread waits
 * so that keeps house until it is told to stop.
 *
 * Method. Before each timeout that passed stands a race (STEP_RACE). If the event that ended the
 * last of the waits comes first, the thread goes on with that wait. The rounds between are left
 * out then. They must matter to no other thread: what a round takes it gives back, as the lock of
 * an interpreter. Else the event only cuts the timeout short (STEP_CUT). The thread does all
 * that it did after the timeout, as to ask once more. If the event is not known, the timeouts stay.
 *
 * The thread may be told to end while it does not wait. Then it sees that when it has the
 * condition's lock again, and there the races lead (TOLD).
 *
 * One thread.
 */
#include "base/memory.h"
#include "format.h"
#include "infer/stopped.h"
#include "script_balance.h"
#include "script_parts.h"
#include "script_queued.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A runtime's wait makes its semaphore anew: then they come from one call site. */
static bool is_same_object(const struct rec_wait *one, const struct rec_wait *other)
{
	bool is_same_site = one->stack && other->stack == one->stack && other->name == one->name;

	return other->address == one->address || (one->reason == REASON_SEM && is_same_site);
}

/* Waits for one object, or polls from one call site, that may end the same way. */
static bool is_alike(const struct recording *rec, const struct moment *one,
		     const struct moment *other, bool is_poll)
{
	if (is_poll)
		return rec->ops[other->index].kind == KIND_POLL &&
		       rec->ops[other->index].name == rec->ops[one->index].name &&
		       rec->extras[other->index].stack == rec->extras[one->index].stack;
	return rec->waits[other->index].reason == rec->waits[one->index].reason &&
	       is_same_object(&rec->waits[one->index], &rec->waits[other->index]);
}

bool script_poll_timed_out(const struct recording *rec, uint32_t poll)
{
	const struct rec_op *op = &rec->ops[poll];

	return op->outcome == OUTCOME_OK && !rec->extras[poll].open &&
	       (!rec->extras[poll].amount || strcmp(rec->strings[op->ident], "timerfd") == 0);
}

static bool timed_out(const struct recording *rec, uint32_t index, bool is_poll)
{
	return is_poll ? script_poll_timed_out(rec, index) : rec->waits[index].timed_out;
}

static bool begins(const struct moment *moment, bool is_poll)
{
	return moment_type(moment) == (is_poll ? MOMENT_OP_BEGIN : MOMENT_WAIT_BEGIN);
}

/* The first wait after this one that something ended, NO_INDEX = none. */
static uint32_t target_of(const struct compiler *compiler, bool is_poll)
{
	const struct timeline *timeline = compiler->timeline;
	const struct moment *one = &timeline->moments[compiler->thread.at];

	for (size_t i = compiler->thread.at + 1; i < timeline->first[compiler->thread.index + 1];
	     i++) {
		const struct moment *moment = &timeline->moments[i];

		if (begins(moment, is_poll) && is_alike(compiler->rec, one, moment, is_poll) &&
		    !timed_out(compiler->rec, moment->index, is_poll))
			return moment->index;
	}
	return NO_INDEX;
}

static bool is_endless(const struct compiler *compiler, const struct race *race, bool is_poll)
{
	const struct moment *moments = compiler->timeline->moments;

	for (size_t i = 0; i < race->endless_count && i < ENDLESS_MAX; i++)
		if (is_alike(compiler->rec, &moments[race->endless[i]],
			     &moments[compiler->thread.at], is_poll))
			return true;
	return false;
}

/* Posts that end races for semaphores which are made anew for each wait. The permit that such a
 * semaphore has before is its thread's own. */
static void find_given(struct found *found, const struct recording *rec,
		       const struct monitors *monitors)
{
	uint32_t *timed_out = memory_new(rec->thread_count, sizeof(*timed_out));

	found->is_given = memory_new(rec->link_count, sizeof(*found->is_given));
	for (uint32_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];
		uint32_t *of = wait->thread == NO_INDEX ? NULL : &timed_out[wait->thread];

		if (!of || wait->reason != REASON_SEM)
			continue;
		if (wait->timed_out)
			*of = i + 1;
		else if (*of && monitors->waking_link[i] != NO_INDEX &&
			 rec->waits[*of - 1].address != wait->address &&
			 is_same_object(&rec->waits[*of - 1], wait))
			found->is_given[monitors->waking_link[i]] = true;
	}
	free(timed_out);
}

void script_told_find(struct found *found, const struct recording *rec,
		      const struct monitors *monitors)
{
	found->told = stopped_told(rec);
	for (size_t t = 0; t < rec->thread_count; t++)
		if (found->told[t] != NO_INDEX)
			found->is_awaited[found->told[t]] = true;
	find_given(found, rec, monitors);
}

void script_told_free(struct found *found)
{
	free(found->told);
	free(found->is_given);
}

static bool is_told(const struct compiler *compiler, uint32_t wait)
{
	uint32_t link = compiler->found->told[compiler->thread.index];

	return link != NO_INDEX &&
	       compiler->rec->links[link].address == compiler->rec->waits[wait].address;
}

static uint32_t lock_of_wait(const struct compiler *compiler, uint32_t wait)
{
	const struct monitors *monitors = &compiler->script->monitors;
	uint32_t s = monitors->section_of_wait[wait];
	uint32_t hold = s == NO_INDEX ? NO_INDEX : monitors->sections[s].last_hold;

	return hold == NO_INDEX ? NO_INDEX : compiler->releases->lock_of[hold];
}

static uint64_t race_ends_at(const struct compiler *compiler, uint32_t target, bool is_poll)
{
	const struct recording *rec = compiler->rec;

	if (target == NO_INDEX)
		return 0;
	if (target == TOLD)
		return rec->links[compiler->found->told[compiler->thread.index]].at_ns;
	return is_poll ? rec->ops[target].start_ns : rec->waits[target].start_ns;
}

static void race_begins(struct compiler *compiler, struct race *race, bool is_poll)
{
	uint32_t at = compiler->timeline->moments[compiler->thread.at].index;
	uint32_t target = target_of(compiler, is_poll);

	if (target == NO_INDEX && !is_poll && is_told(compiler, at)) {
		target = TOLD;
		race->lock = lock_of_wait(compiler, at);
	}
	if (target == NO_INDEX)
		race->endless[race->endless_count++ % ENDLESS_MAX] = compiler->thread.at;
	race->target = target;
	race->first_step = (uint32_t)compiler->script->step_count;
	race->until_ns = race_ends_at(compiler, target, is_poll);
}

bool script_may_race(struct compiler *compiler, bool is_poll)
{
	struct race *race = &compiler->thread.races[is_poll];

	if (is_endless(compiler, race, is_poll))
		return false;
	if (compiler->timeline->moments[compiler->thread.at].at_ns >= race->until_ns)
		race_begins(compiler, race, is_poll);
	return race->target != NO_INDEX;
}

void script_race(struct compiler *compiler, bool is_poll)
{
	if (script_may_race(compiler, is_poll))
		script_emit(compiler, STEP_RACE, 0, 0);
}

static void race_forget(struct step *step)
{
	*step = (struct step){ .arg = NO_INDEX, .type = STEP_FIXED };
}

/* The semaphore of the wait that a step is for; NO_INDEX = it is for none. */
static uint32_t semaphore_of(const struct compiler *compiler, const struct step *step)
{
	const struct recording *rec = compiler->rec;
	uint64_t address = 0;

	if (step->type == STEP_AFTER && rec->links[step->arg].kind == LINK_POST)
		address = rec->links[step->arg].address;
	if (step->type == STEP_FIXED && step->arg != NO_INDEX &&
	    rec->waits[step->arg].reason == REASON_SEM)
		address = rec->waits[step->arg].address;
	return address ? addresses_find(&compiler->found->semaphores, compiler->thread.process,
					address)
		       : NO_INDEX;
}

void script_race_ends(struct compiler *compiler, uint32_t index, bool is_poll)
{
	struct race *race = &compiler->thread.races[is_poll];
	struct step *steps = compiler->script->steps;
	size_t last = compiler->script->step_count - 1;
	struct script_balance balance = { .size = 0 };
	bool may_skip = true;

	if (!race->until_ns || race->target != index)
		return;
	for (size_t i = last; i-- > race->first_step;) {
		if (steps[i].type != STEP_RACE || steps[i].jump) {
			may_skip =
				may_skip && script_balances(&balance, compiler->script, &steps[i]);
			continue;
		}
		bool is_even = script_is_even_but(&balance, compiler->script,
						  semaphore_of(compiler, &steps[i + 1]),
						  semaphore_of(compiler, &steps[last]));
		steps[i].type = may_skip && is_even ? STEP_RACE : STEP_CUT;
		steps[i].jump = last - i;
	}
	race->target = NO_INDEX;
	race->until_ns = 0;
}

void script_sees_it_was_told(struct compiler *compiler, uint32_t hold)
{
	const struct race *race = &compiler->thread.races[false];

	if (compiler->thread.is_skipping || race->until_ns == 0 || race->target != TOLD ||
	    compiler->rec->ops[hold].start_ns < race->until_ns ||
	    (race->lock != NO_INDEX && race->lock != compiler->releases->lock_of[hold]))
		return;
	script_emit(compiler, STEP_AFTER, compiler->found->told[compiler->thread.index], 0);
	script_race_ends(compiler, TOLD, false);
}

void script_races_complete(struct script *script)
{
	size_t end = script->step_count;

	for (size_t i = script->step_count; i-- > 0;) {
		const struct step *step = &script->steps[i];

		if (step->type == STEP_END)
			end = i;
		if (!script_is_race((enum step_type)step->type))
			continue;
		enum step_type target = step->jump && step->jump < end - i
						? (enum step_type)step[step->jump].type
						: STEP_END;
		bool is_permit = target == STEP_PERMIT &&
				 !script_has_jobs(script, script_source(script, step + step->jump));
		if (target != STEP_AWAIT && target != STEP_AFTER && !is_permit)
			race_forget(&script->steps[i]);
	}
}
