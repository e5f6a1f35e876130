/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a script against its contract, table by table.
 *
 * Tables come first, then the steps that refer to them, then the threads, jobs and messages that
 * refer to steps. Each check may rely on those before it.
 *
 * Any thread.
 */
#include "script_valid.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

static const struct step_contract contracts[] = {
#define STEP(name, operand, number, word, does) \
	[STEP_##name] = { OPERAND_##operand, NUMBER_##number, word, does },
#include "steps.def"
};

const struct step_contract *script_contract(enum step_type type)
{
	assert(type <= STEP_END);
	return &contracts[type];
}

static bool is_index(uint32_t index, size_t count)
{
	return index == NO_INDEX || index < count;
}

/* --- tables --- */

static bool scopes_are_valid(const struct script *script)
{
	const struct scopes *scopes = &script->scopes;

	for (size_t i = 0; i < scopes->count; i++) {
		const struct scope *scope = &scopes->scopes[i];

		if (!is_index(scope->leaf, script->class_count) ||
		    !is_index(scope->parent, scopes->count) || scope->parent == i ||
		    scope->first > scopes->class_count ||
		    scopes->class_count - scope->first < scope->count)
			return false;
	}
	for (size_t i = 0; i < scopes->class_count; i++)
		if (!is_index(scopes->classes[i], script->class_count))
			return false;
	return true;
}

static bool shares_are_valid(const struct script *script)
{
	const struct shares *shares = &script->shares;

	for (size_t i = 0; i < shares->function_count; i++)
		if (shares->functions[i].first > shares->share_count ||
		    shares->share_count - shares->functions[i].first < shares->functions[i].count)
			return false;
	for (size_t i = 0; i < shares->share_count; i++)
		if (shares->shares[i].scope >= script->scopes.count ||
		    !(shares->shares[i].share > 0 && shares->shares[i].share <= 1))
			return false;
	return true;
}

static bool signals_are_valid(const struct script *script)
{
	const struct monitors *monitors = &script->monitors;

	for (size_t i = 0; i < script->recording->link_count; i++)
		if (!is_index(monitors->signals[i].condition, monitors->condition_count))
			return false;
	for (size_t i = 0; i < script->recording->wait_count; i++)
		if (!is_index(monitors->waking_link[i], script->recording->link_count))
			return false;
	return true;
}

static bool transfers_are_valid(const struct script *script)
{
	for (size_t i = 0; i < script->flows.transfer_count; i++)
		if (script->flows.transfers[i].flow >= script->flows.flow_count)
			return false;
	return true;
}

static bool requests_are_valid(const struct script *script)
{
	const struct requests *requests = &script->requests;
	size_t judged_count = 0;

	for (size_t i = 0; i < requests->count; i++) {
		if (requests->requests[i].class >= script->class_count)
			return false;
		judged_count += request_is_judged(requests, &requests->requests[i]);
	}
	return judged_count == requests->judged_count;
}

static bool parties_are_valid(const struct script *script)
{
	for (size_t i = 0; i < script->barrier_count; i++)
		if (!script->parties[i])
			return false;
	return true;
}

/* Each turn begins behind the step at which its thread came for it, or where the maker goes on. */
static bool circles_are_valid(const struct script *script)
{
	for (size_t i = 0; i < script->circle_count; i++) {
		const struct script_circle *circle = &script->circles[i];

		for (size_t k = 0; k < circle->turns.count; k++)
			if (circle->turns.steps[k] >= script->step_count)
				return false;
		if (circle->last_end > script->step_count)
			return false;
	}
	return true;
}

static bool tables_are_valid(const struct script *script)
{
	return script->source_count == script->monitors.condition_count + script->flows.flow_count +
					       script->semaphore_count &&
	       scopes_are_valid(script) && shares_are_valid(script) && signals_are_valid(script) &&
	       transfers_are_valid(script) && requests_are_valid(script) &&
	       parties_are_valid(script) && circles_are_valid(script);
}

/* --- steps --- */

static size_t operand_count(const struct script *script, enum step_operand operand)
{
	switch (operand) {
	case OPERAND_NOTHING:
		return 1; /* 0 */
	case OPERAND_SCOPE:
		return script->scopes.count;
	case OPERAND_CIRCLE:
		return script->circle_count;
	case OPERAND_ROUND:
		return script->round_count;
	case OPERAND_PIECE:
		return script->piece_count;
	case OPERAND_LOCK:
		return script->lock_count;
	case OPERAND_CONDITION:
		return script->monitors.condition_count;
	case OPERAND_LINK:
		return script->recording->link_count;
	case OPERAND_SEMAPHORE:
		return script->semaphore_count;
	case OPERAND_BARRIER:
		return script->barrier_count;
	case OPERAND_READ:
	case OPERAND_WRITE:
		return script->flows.transfer_count;
	case OPERAND_ACTOR:
		return script->actor_count;
	case OPERAND_LOOK:
		return script->looks.count;
	case OPERAND_STAMP:
		return 2 * script->requests.count;
	case OPERAND_TIMED:
		return script->clock_reads.loop_count;
	case OPERAND_VISIT:
		return script->loops.visit_count;
	case OPERAND_WAIT:
		return script->recording->wait_count;
	}
	return 0;
}

static bool has_type(const struct script *script, uint64_t step, enum step_type type)
{
	return step < script->step_count && script->steps[step].type == type;
}

/* A round of tries has its again where the try jumps to, and in between only time passes. */
static bool is_round_valid(const struct script *script, size_t try)
{
	uint64_t jump = script->steps[try].jump;

	if (!jump || jump >= script->step_count || !has_type(script, try + jump, STEP_AGAIN) ||
	    script->steps[try + jump].jump != jump)
		return false;
	for (size_t i = try + 1; i < try + jump; i++)
		if (!has_type(script, i, STEP_RUN) && !has_type(script, i, STEP_DELAY) &&
		    !has_type(script, i, STEP_FIXED) && !has_type(script, i, STEP_OVERRUN))
			return false;
	return true;
}

/* The look goes on behind the again of its row. */
static bool is_look_valid(const struct script *script, size_t look)
{
	uint64_t jump = script->steps[look].jump;

	return jump && jump < script->step_count && has_type(script, look + jump, STEP_AGAIN);
}

/* It leads to a wait that knows its end, and a timeout comes next. */
static bool is_race_valid(const struct script *script, size_t race)
{
	uint64_t jump = script->steps[race].jump;

	return jump > 1 && jump < script->step_count &&
	       (has_type(script, race + 1, STEP_DELAY) || has_type(script, race + 1, STEP_FIXED)) &&
	       (has_type(script, race + jump, STEP_AWAIT) ||
		has_type(script, race + jump, STEP_PERMIT) ||
		has_type(script, race + jump, STEP_AFTER));
}

/* It goes back to a try, or behind a look from which the next one leads here. */
static bool is_again_valid(const struct script *script, size_t again)
{
	uint64_t jump = script->steps[again].jump;

	if (jump && jump <= again && has_type(script, again - jump, STEP_LOOK))
		return has_type(script, again - 1, STEP_LOOK) && jump > 1 &&
		       script->steps[again - jump].jump == jump;
	return jump <= again && has_type(script, again - jump, STEP_TRY) &&
	       script->steps[again - jump].jump == jump;
}

/* It goes on with the next step, or behind the end of what its thread has made: a turn, pieces. */
static bool is_end_valid(const struct script *script, size_t begin, enum step_type end)
{
	uint64_t jump = script->steps[begin].jump;

	return !jump || (jump < script->step_count && has_type(script, begin + jump, end) &&
			 script->steps[begin + jump].arg == script->steps[begin].arg);
}

static bool is_job_valid(const struct script *script, const struct step *step)
{
	uint32_t source = script_put_source(script, step);

	return !step->job || (source != NO_INDEX && script->jobs[source].is_handed_over &&
			      step->job <= script->jobs[source].count);
}

static bool is_number_valid(const struct script *script, size_t i, enum step_number number)
{
	const struct step *step = &script->steps[i];

	if (number == NUMBER_NONE)
		return step->ns == 0;
	if (number == NUMBER_JOB)
		return is_job_valid(script, step);
	if (number != NUMBER_JUMP)
		return step->ns != UINT64_MAX;
	if (step->type == STEP_LOOK)
		return is_look_valid(script, i);
	if (script_is_race((enum step_type)step->type))
		return is_race_valid(script, i);
	if (step->type == STEP_TURN)
		return is_end_valid(script, i, STEP_ENDED);
	if (step->type == STEP_PIECES)
		return is_end_valid(script, i, STEP_NEXT);
	return step->type == STEP_TRY ? is_round_valid(script, i) : is_again_valid(script, i);
}

/* A token that is taken or put is one of a condition that has tokens, and a lock. */
static bool is_token_valid(const struct script *script, const struct step *step)
{
	enum put_model model = script->monitors.conditions[step->arg].model;

	if (step->type == STEP_YIELD)
		return script->monitors.conditions[step->arg].quantum_ns > 0;
	if (step->type == STEP_TAKE)
		return model != PUT_NONE && script->jobs[step->arg].lock < script->lock_count;
	return put_by_section(model) || script->monitors.conditions[step->arg].quantum_ns;
}

/* The operand is there, and of the sort that the contract says. */
static bool is_operand_valid(const struct script *script, const struct step *step,
			     enum step_operand operand)
{
	if (operand == OPERAND_WAIT && step->arg == NO_INDEX)
		return true;
	if (step->arg >= operand_count(script, operand))
		return false;
	if (operand == OPERAND_CONDITION)
		return is_token_valid(script, step);
	if (operand == OPERAND_READ || operand == OPERAND_WRITE)
		return script->flows.transfers[step->arg].is_write == (operand == OPERAND_WRITE);
	return true;
}

static bool is_step_valid(const struct script *script, size_t i)
{
	const struct step *step = &script->steps[i];

	if (step->type > STEP_END)
		return false;
	const struct step_contract *contract = script_contract((enum step_type)step->type);
	return is_operand_valid(script, step, contract->operand) &&
	       is_number_valid(script, i, contract->number);
}

/* The threads of the recording have their steps one after the other, each to its mark and end.
 * Threads that were added may have some, too. */
static bool steps_are_valid(const struct script *script)
{
	size_t ends = 0;

	for (size_t i = 0; i < script->step_count; i++) {
		bool is_marked = has_type(script, i, STEP_MARK);

		if (!is_step_valid(script, i) || is_marked != has_type(script, i + 1, STEP_END))
			return false;
		ends += has_type(script, i, STEP_END);
	}
	return (ends == script->recording->thread_count ||
		(script->has_spare_actors && ends == script->actor_count)) &&
	       (!script->step_count || has_type(script, script->step_count - 1, STEP_END));
}

/* --- threads --- */

static size_t end_of(const struct script *script, const struct actor *actor)
{
	size_t step = actor->first_step;

	while (script->steps[step].type != STEP_END)
		step++;
	return step;
}

static bool takes(const struct script *script, uint32_t step)
{
	return script_source(script, &script->steps[step]) != NO_INDEX;
}

static bool is_body(const struct script *script, const struct actor *actor, uint32_t step)
{
	return step > actor->first_step && step <= end_of(script, actor) && takes(script, step - 1);
}

/* A take for which a lock is needed comes after that. */
static bool is_take(const struct script *script, const struct actor *actor, uint32_t step)
{
	size_t end = end_of(script, actor);

	if (step < actor->first_step || step >= end)
		return false;
	for (uint32_t i = step; i < end; i++)
		if (has_type(script, i, STEP_VISIT))
			return false;
	return takes(script, step) ||
	       (has_type(script, step, STEP_ACQUIRE) && has_type(script, step + 1, STEP_TAKE));
}

static bool is_actor_valid(const struct script *script, const struct actor *actor)
{
	if (actor->first_step >= script->step_count ||
	    (actor->first_step && !has_type(script, actor->first_step - 1, STEP_END)))
		return false;
	return actor->weight > 0 && !(actor->counts && actor->ticks) &&
	       (actor->last_body == NO_INDEX || is_body(script, actor, actor->last_body)) &&
	       (actor->take_step == NO_INDEX || is_take(script, actor, actor->take_step));
}

/* Each thread of the recording has steps of its own; threads that were added share them. */
static bool actors_are_valid(const struct script *script)
{
	size_t recorded = script->recording->thread_count;
	bool are_spare = script->has_spare_actors;

	if (script->actor_count < recorded || (script->actor_count > recorded && !are_spare))
		return false;
	for (size_t i = 0; i < script->actor_count; i++) {
		const struct actor *actor = &script->actors[i];

		if (!is_actor_valid(script, actor) || (!i && actor->first_step) ||
		    (i && i < recorded && actor->first_step <= actor[-1].first_step))
			return false;
	}
	return true;
}

/* A thread is started by one step at most, and does not join itself. */
static bool starts_are_valid(const struct script *script)
{
	uint32_t *starts = memory_new(script->actor_count, sizeof(*starts)), thread = 0;
	bool is_valid = true;

	for (size_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];

		if (step->type == STEP_SPAWN)
			starts[step->arg]++;
		is_valid = is_valid && !(step->type == STEP_JOIN && step->arg == thread);
		thread += step->type == STEP_END;
	}
	for (size_t i = 0; i < script->actor_count; i++) {
		bool is_left_out = !starts[i] && script->has_spare_actors;

		is_valid = is_valid && (is_left_out || starts[i] == script->actors[i].is_spawned);
	}
	free(starts);
	return is_valid;
}

/* The makespan as recorded is the last finish that counts. */
static bool is_makespan_valid(const struct script *script)
{
	uint64_t finish_ns = script->start_ns;
	bool any = false;

	for (size_t i = 0; i < script->actor_count; i++) {
		const struct actor *actor = &script->actors[i];

		any = any || actor->counts;
		if (actor->counts && actor->finish_ns > finish_ns)
			finish_ns = actor->finish_ns;
	}
	return script->has_spare_actors ||
	       (any && script->actual_ns == finish_ns - script->start_ns);
}

/* --- jobs --- */

/* Each job comes after a take from its source, and is in one list only. */
static bool are_jobs_valid(const struct script *script, uint32_t source, bool *is_owned)
{
	const struct job_list *jobs = &script->jobs[source];
	uint64_t items = jobs->last_items;

	for (size_t i = 0; i < jobs->count; i++) {
		uint32_t step = jobs->steps[i];

		if (!step || step >= script->step_count || is_owned[step] ||
		    script_source(script, &script->steps[step - 1]) != source)
			return false;
		is_owned[step] = true;
		items += jobs->items ? jobs->items[i] : 0;
	}
	return is_index(jobs->lock, script->lock_count) && !jobs->items == !jobs->cost_of &&
	       (!jobs->items || items <= jobs->all_items);
}

static bool jobs_are_valid(const struct script *script)
{
	bool *is_owned = memory_new(script->step_count, sizeof(*is_owned)), is_valid = true;

	for (size_t i = 0; i < script->actor_count; i++)
		if (script->actors[i].last_body != NO_INDEX)
			is_owned[script->actors[i].last_body] = true;
	for (uint32_t source = 0; source < script->source_count && is_valid; source++)
		is_valid = are_jobs_valid(script, source, is_owned);
	free(is_owned);
	return is_valid;
}

/* Messages are lined up by the number of the first transfer of their flow, all of one size. */
static bool is_room_valid(const struct script *script, uint32_t flow)
{
	const struct message_room *room = &script->messages.rooms[flow];
	const struct transfer *transfers = script->flows.transfers;

	if (room->first > script->flows.transfer_count ||
	    script->flows.transfer_count - room->first < room->count)
		return false;
	for (uint32_t i = room->first; i < room->first + room->count; i++)
		if (transfers[i].flow != flow || !transfers[i].bytes ||
		    transfers[i].bytes != transfers[room->first].bytes)
			return false;
	return true;
}

static bool messages_are_valid(const struct script *script)
{
	size_t conditions = script->monitors.condition_count;

	for (uint32_t flow = 0; flow < script->flows.flow_count; flow++)
		if (!is_room_valid(script, flow))
			return false;
	for (size_t i = 0; i < script->flows.transfer_count; i++) {
		uint32_t flow = script->flows.transfers[i].flow;

		if (!is_index(script->messages.job_of[i], script->jobs[conditions + flow].count))
			return false;
	}
	return true;
}

bool script_is_valid(const struct script *script)
{
	return tables_are_valid(script) && steps_are_valid(script) && actors_are_valid(script) &&
	       starts_are_valid(script) && is_makespan_valid(script) && jobs_are_valid(script) &&
	       messages_are_valid(script);
}
