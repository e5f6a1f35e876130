/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting by looking: a thread sleeps a little, looks, sleeps again, until another thread has got
 * somewhere (infer/looks.h says where).
 *
 * Method. Where the other one gets there is a step of its own. There is a look before the first
 * sleep, and after each: if it finds that, the thread goes on behind the row. After the last
 * recorded look it goes back, and does the last round again. So the row may have any number of
 * sleeps. It has as many as it had if a round does something to other threads, or if the script
 * has no such step.
 *
 * One thread.
 */
#include "base/memory.h"
#include "format.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>

static bool is_looking(const struct compiler *compiler, const struct look_row *row)
{
	return row->sort >= LOOK_GUESS && !compiler->thread.is_skipping;
}

void script_look_begins(struct compiler *compiler, uint32_t sleep)
{
	struct script *script = compiler->script;
	const struct look_row *row = looks_of(&script->looks, compiler->rec, sleep);

	if (!row || row->first != sleep)
		return;
	script->look_spans[row - script->looks.rows].first = (uint32_t)script->step_count;
	if (is_looking(compiler, row))
		script_emit(compiler, STEP_LOOK, (uint32_t)(row - script->looks.rows), 0);
}

/* The row is complete: each look knows where it ends, and the last one how to do another round. */
static void row_ends(struct script *script, uint32_t number)
{
	size_t again = script->step_count - 1, last = NO_INDEX;
	struct step *steps = script->steps;

	for (size_t i = again; i-- > 0 && steps[i].type != STEP_END;) {
		if (steps[i].type != STEP_LOOK || steps[i].arg != number)
			continue;
		steps[i].jump = again - i;
		if (last == NO_INDEX)
			last = i;
		else if (!steps[again].jump)
			steps[again].jump = again - i;
	}
}

void script_look_ends(struct compiler *compiler, uint32_t sleep)
{
	struct script *script = compiler->script;
	const struct look_row *row = looks_of(&script->looks, compiler->rec, sleep);

	if (!row)
		return;
	uint32_t number = (uint32_t)(row - script->looks.rows);
	if (row->last == sleep)
		script->look_spans[number].end = (uint32_t)script->step_count;
	if (!is_looking(compiler, row))
		return;
	script_emit(compiler, STEP_LOOK, number, 0);
	if (row->last != sleep)
		return;
	script_emit(compiler, STEP_AGAIN, 0, 0);
	row_ends(script, number);
}

void script_marks_until(struct compiler *compiler, uint64_t before_ns)
{
	const struct found *found = compiler->found;
	const struct look_row *rows = compiler->script->looks.rows;
	const struct thread_state *thread = &compiler->thread;
	size_t *next = &compiler->gathered.next_mark;

	for (; *next < found->mark_count; (*next)++) {
		const struct look_row *row = &rows[found->marks[*next]];

		if (row->ender < thread->index)
			continue;
		if (row->ender > thread->index || row->mark_ns >= before_ns ||
		    thread->is_skipping || thread->is_waiting)
			return;
		script_pass(compiler, row->mark_ns);
		script_emit(compiler, STEP_REACH, found->marks[*next], 0);
	}
}

static int compare_marks(const void *left, const void *right, void *context)
{
	const struct look_row *rows = context;
	const struct look_row *a = &rows[*(const uint32_t *)left];
	const struct look_row *b = &rows[*(const uint32_t *)right];

	if (a->ender != b->ender)
		return a->ender < b->ender ? -1 : 1;
	if (a->mark_ns != b->mark_ns)
		return a->mark_ns < b->mark_ns ? -1 : 1;
	return (a > b) - (a < b);
}

void script_marks_find(struct found *found, const struct looks *looks)
{
	found->marks = memory_new(looks->count, sizeof(*found->marks));
	for (uint32_t i = 0; i < looks->count; i++)
		if (looks->rows[i].sort >= LOOK_GUESS)
			found->marks[found->mark_count++] = i;
	if (found->mark_count)
		qsort_r(found->marks, found->mark_count, sizeof(*found->marks), compare_marks,
			looks->rows);
}

bool script_may_repeat(enum step_type type)
{
	return script_is_private(type) || type == STEP_ACQUIRE || type == STEP_RELEASE ||
	       type == STEP_SHARE || type == STEP_UNSHARE || type == STEP_GRAB;
}

/* The row at its first look; other looks in it are its own. */
static bool is_row_whole(const struct script *script, size_t first, const bool *is_reached)
{
	const struct step *steps = script->steps;
	uint32_t number = steps[first].arg;

	if (!steps[first].jump || !is_reached[number])
		return false;
	for (size_t i = first + 1; i < first + steps[first].jump && i < script->step_count; i++)
		if (!script_may_repeat((enum step_type)steps[i].type) &&
		    steps[i].type != STEP_RACE &&
		    (steps[i].type != STEP_LOOK || steps[i].arg != number))
			return false;
	return true;
}

static void look_forget(struct step *step)
{
	*step = (struct step){ .arg = NO_INDEX, .type = STEP_FIXED };
}

/* The thread's steps were not cut in the row. */
static bool is_whole(const struct script *script, size_t first)
{
	uint64_t jump = script->steps[first].jump;

	for (size_t i = first; i < first + jump; i++)
		if (i >= script->step_count || script->steps[i].type == STEP_END)
			return false;
	return true;
}

/* As recorded: the looks go, and so does what the last one goes back from. */
static void row_forget(struct script *script, size_t first)
{
	uint64_t jump = script->steps[first].jump;
	uint32_t number = script->steps[first].arg;
	bool is_cut = !is_whole(script, first);

	script->looks.rows[number].sort = LOOK_KEPT;
	for (size_t i = first; i < first + jump && script->steps[i].type != STEP_END; i++)
		if (script->steps[i].type == STEP_LOOK && script->steps[i].arg == number)
			look_forget(&script->steps[i]);
	if (!is_cut)
		look_forget(&script->steps[first + jump]);
}

void script_looks_complete(struct script *script)
{
	bool *is_reached = memory_new(script->looks.count, sizeof(*is_reached));

	for (size_t i = 0; i < script->step_count; i++)
		if (script->steps[i].type == STEP_REACH)
			is_reached[script->steps[i].arg] = true;
	for (size_t i = 0; i < script->step_count; i++) {
		if (script->steps[i].type != STEP_LOOK)
			continue;
		if (!is_row_whole(script, i, is_reached))
			row_forget(script, i);
		else
			i += script->steps[i].jump;
	}
	free(is_reached);
}
