/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of groups (infer/turns.h), as steps.
 *
 * Method. A thread that comes to a group has a STEP_TURN. If it made a turn itself in the
 * recording, the steps from there to STEP_ENDED are that turn's, and STEP_TURN jumps over them.
 * They are a job: whichever thread finds no turn under way does the next one. Where one thread
 * makes all turns, it says by STEP_BEGUN and STEP_ENDED when they begin and end.
 *
 * The steps between a wait and its end, where the thread looked and went on waiting, are left out.
 * One thread.
 */
#include "base/memory.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>

static const struct turn_group *group_of(const struct compiler *compiler, uint32_t group)
{
	return &compiler->found->turns.groups[group];
}

static void come(struct compiler *compiler, uint32_t group, uint32_t turn)
{
	if (turn != NO_INDEX) {
		compiler->thread.turn = turn;
		compiler->thread.turn_step = (uint32_t)compiler->script->step_count;
	}
	script_emit(compiler, STEP_TURN, group, 0);
}

/* The first turn cannot be made again: what comes before it is no part of it. */
static void begin(struct compiler *compiler, uint32_t group, uint32_t turn)
{
	if (compiler->thread.turn == NO_INDEX)
		compiler->thread.turn_step = (uint32_t)compiler->script->step_count;
	compiler->thread.turn = turn;
	script_emit(compiler, STEP_BEGUN, group, 0);
}

bool script_turn_awaits(struct compiler *compiler, uint32_t wait)
{
	const struct turns *turns = &compiler->found->turns;

	if (!turns->begins || compiler->thread.is_skipping)
		return false;
	if (turns->begins[wait] == NO_INDEX)
		return turns->is_idle[wait];
	come(compiler, turns->begins[wait], turns->led_by_wait[wait]);
	compiler->thread.awaits_turn = compiler->thread.is_skipping = true;
	compiler->thread.skip_section = NULL;
	return true;
}

bool script_turn_awaited(struct compiler *compiler, uint32_t wait)
{
	const struct turns *turns = &compiler->found->turns;

	if (!compiler->thread.awaits_turn)
		return turns->is_idle && turns->is_idle[wait] && !compiler->thread.is_skipping;
	if (turns->ends[wait] != NO_INDEX)
		compiler->thread.awaits_turn = compiler->thread.is_skipping = false;
	return true;
}

static void turn_ends(struct compiler *compiler, uint32_t turn)
{
	struct thread_state *thread = &compiler->thread;
	uint32_t group = compiler->found->turns.turns[turn].group;

	if (!group_of(compiler, group)->is_led) {
		script_emit(compiler, STEP_ENDED, group, 0);
		compiler->gathered.step_of_turn[turn] = thread->turn_step;
		thread->turn_step = (uint32_t)compiler->script->step_count;
	} else if (thread->turn == turn) {
		script_emit(compiler, STEP_ENDED, group, 0);
		compiler->script->steps[thread->turn_step].jump =
			compiler->script->step_count - 1 - thread->turn_step;
		compiler->gathered.step_of_turn[turn] = thread->turn_step;
		thread->turn = NO_INDEX;
	}
}

void script_turn_at_hold_end(struct compiler *compiler, uint32_t hold)
{
	const struct turns *turns = &compiler->found->turns;

	if (!turns->begins || compiler->thread.is_skipping)
		return;
	if (turns->closed_by[hold] != NO_INDEX)
		turn_ends(compiler, turns->closed_by[hold]);
	if (turns->asked_by[hold] != NO_INDEX)
		script_emit(compiler, STEP_ASK, turns->asked_by[hold], 0);
	script_turn_opens(compiler, hold);
}

void script_turn_at_link(struct compiler *compiler, uint32_t link)
{
	const struct turns *turns = &compiler->found->turns;

	if (turns->begins && turns->closed_by_link[link] != NO_INDEX)
		turn_ends(compiler, turns->closed_by_link[link]);
}

void script_turn_opens(struct compiler *compiler, uint32_t op)
{
	const struct turns *turns = &compiler->found->turns;
	uint32_t turn = turns->begins ? turns->opened_by[op] : NO_INDEX;

	if (turn == NO_INDEX || compiler->thread.is_skipping)
		return;
	if (group_of(compiler, turns->turns[turn].group)->is_led)
		come(compiler, turns->turns[turn].group, turn);
	else
		begin(compiler, turns->turns[turn].group, turn);
}

void script_turns_drop(struct script *script, uint32_t actor)
{
	for (size_t i = script->actors[actor].first_step; i < script->step_count; i++)
		if (script->steps[i].type == STEP_TURN &&
		    script->steps[i].jump >= script->step_count - i)
			script->steps[i].jump = 0;
}

/* A turn that was cut off is none. */
static void turn_add(struct compiler *compiler, uint32_t turn)
{
	struct script *script = compiler->script;
	const struct turn *made = &compiler->found->turns.turns[turn];
	uint32_t step = compiler->gathered.step_of_turn[turn];

	if (step == NO_INDEX ||
	    (script->steps[step].type == STEP_TURN && script->steps[step].jump == 0))
		return;
	struct script_circle *circle = &script->circles[made->group];
	struct job_list *jobs = &circle->turns;
	size_t capacity = jobs->count;
	uint32_t end = step;
	while (script->steps[end].type != STEP_ENDED && script->steps[end].type != STEP_END)
		end++;
	if (script->steps[end].type == STEP_END)
		return;
	jobs->steps = memory_grow(jobs->steps, &jobs->capacity, jobs->count + 1, sizeof(uint32_t));
	jobs->items = memory_grow(jobs->items, &capacity, jobs->count + 1, sizeof(uint32_t));
	jobs->items[jobs->count] = made->items;
	jobs->steps[jobs->count++] = step + circle->is_led;
	jobs->all_items += made->items;
	circle->last_end = end + 1;
}

void script_turns_find(struct compiler *compiler)
{
	const struct turns *turns = &compiler->found->turns;
	struct script *script = compiler->script;

	script->circle_count = turns->group_count;
	script->circles = memory_new(turns->group_count, sizeof(*script->circles));
	for (size_t i = 0; i < turns->group_count; i++) {
		script->circles[i].is_led = turns->groups[i].is_led;
		script->circles[i].is_asked = turns->groups[i].is_asked;
		script->circles[i].latency_ns = turns->groups[i].latency_ns;
	}
	for (uint32_t i = 0; i < turns->count; i++)
		turn_add(compiler, i);
	for (uint32_t i = 0; i < script->circle_count; i++)
		if (script->circles[i].turns.count)
			script_batches_cost(script, &script->circles[i].turns, STEP_ENDED, i);
}
