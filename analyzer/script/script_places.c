/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells which runs are of the same code, and which samples were taken in which run.
 *
 * Method. Between two moments of a thread the same code runs, if they are of the same calls, made
 * from the same places. Whether a call had to wait makes no difference. On crowded CPUs threads are
 * sampled when their turn ends. A thread whose turn ends between two locks finds the second one
 * taken when it goes on. Told apart by that, all samples would be on one side, and most of the time
 * on the other. A lock's wake-up is part of its release for the same reason.
 *
 * The length of a run says which way through the code was taken: a slow request runs other
 * functions than the rest. So each place is once more told apart by the power of two of its run's
 * length.
 *
 * Whatever the thread does between two calls is under the functions that made both: the context of
 * its scope. Waits for work to arrive are in none, as no function makes them longer.
 *
 * One thread.
 */
#include "script_places.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "format.h"
#include "recording/samples.h"

/* Sides of a call. */
enum side { SIDE_BEFORE, SIDE_AFTER, SIDE_LINK };

/* Room in a key: for kinds and reasons, for what is a wait and what is none, for sides. */
enum { WHATS_MAX = 64, SORTS = 2, SIDES_MAX = 4 };

/* `what` is the kind of an op or link, or the reason of a wait. */
static uint32_t key_of(uint32_t stack, uint32_t what, bool is_wait, enum side side)
{
	return ((stack * WHATS_MAX + what) * SORTS + is_wait) * SIDES_MAX + (uint32_t)side;
}

static bool is_lock_wait(const struct rec_wait *wait)
{
	return wait->reason == REASON_MUTEX || wait->reason == REASON_LOCK ||
	       wait->reason == REASON_RWLOCK_READ || wait->reason == REASON_RWLOCK_WRITE;
}

static bool is_of_wait(const struct moment *moment)
{
	enum moment_type type = moment_type(moment);

	return type == MOMENT_WAIT_BEGIN || type == MOMENT_WAIT_END || type == MOMENT_WAIT_POINT;
}

static bool is_begin(const struct moment *moment)
{
	enum moment_type type = moment_type(moment);

	return type == MOMENT_WAIT_BEGIN || type == MOMENT_OP_BEGIN;
}

static bool is_end(const struct moment *moment)
{
	enum moment_type type = moment_type(moment);

	return type == MOMENT_WAIT_END || type == MOMENT_OP_END;
}

/* The call, where it was made, and the side of it on which the code is. */
static uint32_t moment_key(const struct recording *rec, const struct moment *moment, enum side side)
{
	if (moment_type(moment) == MOMENT_LINK)
		return key_of(rec->links[moment->index].stack, rec->links[moment->index].kind,
			      false, SIDE_LINK);
	if (!is_of_wait(moment))
		return key_of(rec->extras[moment->index].stack, rec->ops[moment->index].kind, false,
			      side);
	const struct rec_wait *wait = &rec->waits[moment->index];
	bool is_lock = side == SIDE_BEFORE && is_lock_wait(wait);

	return key_of(wait->stack, is_lock ? KIND_HOLD : wait->reason, !is_lock, side);
}

static bool is_release(const struct script_places *places, const struct recording *rec,
		       const struct moment *moment)
{
	return moment_type(moment) == MOMENT_LINK && places->since.hold != NO_INDEX &&
	       rec->links[moment->index].kind == LINK_WAKE &&
	       rec->links[moment->index].address == rec->extras[places->since.hold].address;
}

/* The next code comes after this moment. */
static void remember(struct script_places *places, const struct recording *rec,
		     const struct moment *moment)
{
	bool is_hold =
		moment_type(moment) == MOMENT_OP_END && rec->ops[moment->index].kind == KIND_HOLD;

	if (is_release(places, rec, moment))
		return;
	places->since.hold = is_hold ? moment->index : NO_INDEX;
	places->since.key = moment_key(rec, moment, is_begin(moment) ? SIDE_BEFORE : SIDE_AFTER);
}

static void gap_add(struct script_places *places, size_t first_step, size_t end_step)
{
	places->gaps = memory_grow(places->gaps, &places->gap_capacity, places->gap_count + 1,
				   sizeof(*places->gaps));
	places->gaps[places->gap_count++] =
		(struct cut_gap){ (uint32_t)first_step, (uint32_t)end_step };
}

/* 0 = it has none: what came before and after it has the same. */
static uint32_t moment_stack(const struct recording *rec, const struct moment *moment)
{
	if (moment_type(moment) == MOMENT_LINK)
		return rec->links[moment->index].stack;
	return is_of_wait(moment) ? rec->waits[moment->index].stack
				  : rec->extras[moment->index].stack;
}

/* The steps since the last moment are in the functions of both. */
static void contexts_end(struct script_places *places, struct script *script,
			 const struct moment *moment)
{
	uint32_t from = places->since.stack;
	uint32_t to = moment ? moment_stack(script->recording, moment) : 0;
	bool is_within = moment && (!to || (to == from && is_end(moment)));

	places->since.stack = to ? to : from;
	if (places->since.first_step == script->step_count)
		return;
	uint32_t context =
		is_within ? contexts_within(&places->contexts, from, places->since.program)
			  : contexts_between(&places->contexts, from, to, places->since.program);
	for (size_t i = places->since.first_step; context && i < script->step_count; i++) {
		struct step *step = &script->steps[i];

		if (script_contract((enum step_type)step->type)->operand != OPERAND_SCOPE)
			continue;
		const struct scope *scope = &script->scopes.scopes[step->arg];
		/* a step of a try's rounds is a copy, and has its functions */
		bool is_copy = scope->context || scope->place;
		bool is_arrival = scope->leaf != NO_INDEX && script->arrivals[scope->leaf];
		if (!is_copy && !is_arrival)
			step->arg = scopes_add_context(&script->scopes, step->arg, context);
	}
}

/* The runs since the last moment are of this place, and the samples were taken in them. */
static void gap_end(struct script_places *places, struct script *script, uint32_t place,
		    size_t end_sample)
{
	uint32_t runs = 0, last_run = NO_INDEX;

	assert(places->since.first_step <= script->step_count &&
	       places->since.first_sample <= end_sample);
	for (size_t i = places->since.first_step; i < script->step_count; i++) {
		if (script->steps[i].type != STEP_RUN)
			continue;
		script->steps[i].arg =
			scopes_add_place(&script->scopes, script->steps[i].arg, place);
		last_run = (uint32_t)i;
		runs++;
	}
	for (size_t s = places->since.first_sample; s < end_sample && runs; s++)
		places->step_of_sample[s] = last_run;
	if (runs > 1)
		gap_add(places, places->since.first_step, script->step_count);
}

void script_places_begin(struct script_places *places, const struct recording *rec,
			 const struct stack_functions *functions)
{
	bool has_functions = functions && functions->first;
	size_t stacks = 0;

	contexts_begin(&places->contexts, rec, functions);
	/* Samples that were taken on a condition tell of their stretches alone. So calls tell, as
	 * where there are no samples. */
	if (samples_outside(rec, NULL))
		return;
	for (size_t i = 0; has_functions && i < rec->sample_count; i++)
		stacks += rec->samples[i].stack != 0;
	if (!stacks)
		return;
	places->step_of_sample = memory_new(rec->sample_count, sizeof(*places->step_of_sample));
	for (size_t i = 0; i < rec->sample_count; i++)
		places->step_of_sample[i] = NO_INDEX;
}

void script_places_begin_thread(struct script_places *places, uint32_t program, size_t step_count,
				size_t run_count, size_t first_sample)
{
	places->since = (struct place_since){ .program = program,
					      .hold = NO_INDEX,
					      .first_step = step_count,
					      .first_sample = first_sample,
					      .first_run = run_count };
}

void script_places_end(struct script_places *places, struct script *script,
		       struct script_runs *runs, const struct moment *moment, size_t end_sample)
{
	const struct recording *rec = script->recording;
	uint32_t key =
		moment ? moment_key(rec, moment, is_end(moment) ? SIDE_AFTER : SIDE_BEFORE) : 0;
	uint32_t place = (places->since.key * 0x9e3779b1u ^ key) | 1;

	for (size_t i = places->since.first_run; i < runs->run_count; i++)
		runs->runs[i].key = place;
	contexts_end(places, script, moment);
	if (places->step_of_sample)
		gap_end(places, script, place, end_sample);
	if (moment)
		remember(places, rec, moment);
	places->since.first_run = runs->run_count;
	places->since.first_step = script->step_count;
	places->since.first_sample = end_sample;
}

void script_places_drop(struct script_places *places, size_t step_count, size_t end_sample)
{
	while (places->gap_count && places->gaps[places->gap_count - 1].end_step > step_count)
		places->gap_count--;
	if (!places->step_of_sample)
		return;
	/* those of other threads are in earlier steps */
	for (size_t s = end_sample; s-- > 0 && (places->step_of_sample[s] == NO_INDEX ||
						places->step_of_sample[s] >= step_count);)
		places->step_of_sample[s] = NO_INDEX;
}

static uint32_t power_of_two(uint64_t ns)
{
	uint32_t power = 0;

	for (; ns > 1; ns /= 2)
		power++;
	return power;
}

static void split(struct script *script, struct step *step, uint64_t length_ns)
{
	uint32_t place = script->scopes.scopes[step->arg].place;

	if (!place)
		return;
	place = ((place + power_of_two(length_ns)) * 0x85ebca6bu) | 1;
	step->arg = scopes_add_place(&script->scopes, step->arg, place);
}

void script_places_split(struct script_places *places, struct script *script)
{
	size_t gap = 0;

	for (size_t i = 0; i < script->step_count && places->step_of_sample;) {
		size_t next = i + 1;
		uint64_t length_ns = 0;

		assert(gap == places->gap_count || places->gaps[gap].first_step >= i);
		if (gap < places->gap_count && places->gaps[gap].first_step == i)
			next = places->gaps[gap++].end_step;
		for (size_t k = i; k < next; k++)
			length_ns += script->steps[k].type == STEP_RUN ? script->steps[k].ns : 0;
		for (; i < next; i++)
			if (script->steps[i].type == STEP_RUN)
				split(script, &script->steps[i], length_ns);
	}
}

uint32_t *script_places_scopes(struct script_places *places, const struct script *script)
{
	uint32_t *scope_of = places->step_of_sample;

	for (size_t i = 0; scope_of && i < script->recording->sample_count; i++)
		if (scope_of[i] != NO_INDEX)
			scope_of[i] = script->steps[scope_of[i]].arg;
	return scope_of;
}

void script_places_free(struct script_places *places)
{
	free(places->step_of_sample);
	free(places->gaps);
	contexts_free(&places->contexts);
	*places = (struct script_places){ 0 };
}
