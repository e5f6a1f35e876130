/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the op or wait that a step was compiled from, and says it; places.h has the contract.
 */
#include "places.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis.h"
#include "facts.h"
#include "format.h"

static const char *action_of(const struct script *script, const struct step *step)
{
	switch ((enum step_type)step->type) {
	case STEP_ACQUIRE:
	case STEP_SHARE:
	case STEP_GRAB:
		return "waits for the lock";
	case STEP_TRY:
	case STEP_AGAIN:
		return "tries again and again to get the lock";
	case STEP_TAKE:
	case STEP_YIELD:
		return "waits for a signal to";
	case STEP_AFTER:
		return "waits for something that another thread does:";
	case STEP_PERMIT:
	case STEP_CLAIM:
		return script_awaits_child(script, step) ? "waits for the end of any child"
							 : "waits for a permit of";
	case STEP_COME:
		return "waits for the thread of all clients to";
	case STEP_RACE:
	case STEP_CUT:
		return "waits, with a timeout";
	case STEP_LOOK:
		return "sleeps and looks, again and again, for thread";
	case STEP_TURN:
		return "waits for a turn of its group";
	case STEP_BARRIER:
		return "waits at the barrier";
	case STEP_RECEIVE:
	case STEP_AWAIT:
	case STEP_VISIT:
		return "waits for data of";
	case STEP_SEND:
		return "waits for room in";
	case STEP_JOIN:
		return "waits for the end of thread";
	case STEP_RUN:
	case STEP_DELAY:
	case STEP_FIXED:
	case STEP_OVERRUN:
	case STEP_UNTIL:
	case STEP_TIMED:
	case STEP_TIMING:
	case STEP_SCHEDULE:
	case STEP_RELEASE:
	case STEP_UNSHARE:
	case STEP_LEAVE:
	case STEP_PUT:
	case STEP_ASK:
	case STEP_BEGUN:
	case STEP_ENDED:
	case STEP_PIECES:
	case STEP_PIECE:
	case STEP_NEXT:
	case STEP_SIGNAL:
	case STEP_HALT:
	case STEP_WAKING:
	case STEP_POST:
	case STEP_REACH:
	case STEP_SPAWN:
	case STEP_STAMP:
	case STEP_MARK:
	case STEP_END:
		break;
	}
	return NULL;
}

static const char *name_of_origin(const struct analysis *analysis, const struct step_origin *origin)
{
	const struct recording *recording = analysis->recording;
	const struct labels *labels = analysis->labels;
	uint32_t name;
	if (origin->sort == ORIGIN_OP)
		name = recording->ops[origin->index].kind == KIND_HOLD
			       ? analysis->classes.classes[analysis->classes.of_op[origin->index]]
					 .name
			       : recording->ops[origin->index].ident;
	else
		name = labels && labels->waits ? labels->waits[origin->index]
					       : recording->waits[origin->index].ident;
	return recording->strings[name];
}

static const char *object_of(const struct analysis *analysis, const struct step *step,
			     const struct step_origin *origin)
{
	const struct script *script = &analysis->script;
	enum step_operand operand = script_contract((enum step_type)step->type)->operand;
	if (operand == OPERAND_LOOK && script->looks.rows[step->arg].ender != NO_INDEX)
		return facts_thread_name(analysis, script->looks.rows[step->arg].ender);
	if (operand == OPERAND_ACTOR)
		return facts_thread_name(analysis, step->arg);
	uint32_t lock = operand == OPERAND_LOCK   ? step->arg
			: operand == OPERAND_LOOK ? looks_lock(&script->looks, step->arg)
						  : NO_INDEX;
	if (lock != NO_INDEX && script->lock_class[lock] != NO_INDEX)
		return facts_class_name(analysis, script->lock_class[lock]);
	return origin && origin->sort != ORIGIN_LINK ? name_of_origin(analysis, origin) : "";
}

/* Only holds and waits have sites of their own; a call's class names its caller. */
static const char *site_of(const struct analysis *analysis, const struct step_origin *origin)
{
	const struct recording *recording = analysis->recording;
	const struct labels *labels = analysis->labels;
	if (!origin || origin->sort == ORIGIN_LINK || !labels || !labels->sites)
		return "";
	bool is_wait = origin->sort == ORIGIN_WAIT;
	uint32_t stack = is_wait ? recording->waits[origin->index].stack
				 : recording->extras[origin->index].stack;
	if (labels->sites[stack] || is_wait)
		return recording->strings[labels->sites[stack]];
	return facts_class_name(analysis, analysis->classes.of_op[origin->index]);
}

/* The rounds of a loop of tries are steps of their own: its try is what it waits for. */
static uint32_t waiting_step(const struct script *script, uint32_t step)
{
	uint32_t at = step;
	while (at > 0 && script->steps[at].type != STEP_AGAIN &&
	       script->steps[at].type != STEP_TRY &&
	       script_contract((enum step_type)script->steps[at].type)->number == NUMBER_LENGTH)
		at--;
	if (script->steps[at].type == STEP_AGAIN)
		return at - (uint32_t)script->steps[at].jump;
	bool is_inside = script->steps[at].type == STEP_TRY && at + script->steps[at].jump >= step;
	return is_inside ? at : step;
}

struct place place_of(const struct analysis *analysis, struct replay_place at)
{
	const struct script *script = &analysis->script;
	struct place place = { .object = "", .site = "" };
	assert(at.actor < script->actor_count && at.step < script->step_count);
	if (at.actor >= analysis->recording->thread_count)
		return place;
	uint32_t index = waiting_step(script, at.step);
	const struct step *step = &script->steps[index];
	const struct step_origin *origin = script_origin(script, index);
	place.action = action_of(script, step);
	if (!origin && at.step == script->actors[at.actor].first_step &&
	    script->actors[at.actor].is_spawned)
		place.action = "waits to be started";
	place.object = object_of(analysis, step, origin);
	place.site = site_of(analysis, origin);
	place.thread = facts_thread_name(analysis, at.actor);
	place.tid = analysis->recording->threads[at.actor].tid;
	return place;
}

struct place place_of_wait(const struct analysis *analysis, uint32_t wait)
{
	const struct rec_wait *recorded = &analysis->recording->waits[wait];
	const struct step_origin origin = { .index = wait & ORIGIN_INDEX_MAX, .sort = ORIGIN_WAIT };
	struct place place = { .object = name_of_origin(analysis, &origin),
			       .site = site_of(analysis, &origin),
			       .thread = facts_thread_name(analysis, recorded->thread),
			       .tid = analysis->recording->threads[recorded->thread].tid };
	place.action = place.object[0] ? "waits for" : "waits";
	return place;
}

/* Its object has no name, and the sentence would end in a preposition. */
static bool needs_object(const char *action)
{
	static const char *const open_ends[] = { " of", " to", " in", " for", ":", " thread" };
	size_t length = strlen(action);
	for (size_t i = 0; i < sizeof(open_ends) / sizeof(open_ends[0]); i++) {
		size_t end = strlen(open_ends[i]);
		if (length >= end && !strcmp(action + length - end, open_ends[i]))
			return true;
	}
	return false;
}

const char *place_describe(const struct place *place, char text[PLACE_BYTES])
{
	assert(place->action);
	const char *before = place->object[0]              ? " `"
			     : needs_object(place->action) ? " something without a name"
							   : "";
	snprintf(text, PLACE_BYTES, "thread `%.40s` (%" PRIu32 ") %s%s%.50s%s%s%.70s",
		 place->thread, place->tid, place->action, before, place->object,
		 place->object[0] ? "`" : "", place->site[0] ? " at " : "", place->site);
	return text;
}
