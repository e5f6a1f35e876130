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
 * The rounds of a thread that a flag stops have work in them. It looks before each sleep of the
 * row, and at its own end, to which it comes when it finds the flag. The post that says so comes
 * after that. Or it looks behind each sleep, and goes on behind the last one.
 *
 * A row may be for locks on files. The thread takes some of them at once then, and has a round in
 * vain if it cannot. So it gets those that it has alone before the first one of a round. A thread
 * that found them free in the recording waits there, if they are not, until they are given back.
 *
 * One thread.
 */
#include "base/memory.h"
#include "format.h"
#include "script_balance.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_looking(const struct compiler *compiler, const struct look_row *row)
{
	return row->sort >= LOOK_GUESS && !compiler->thread.is_skipping;
}

/* Behind the sleep, or before it. */
static bool is_told_at(const struct compiler *compiler, const struct look_row *row, uint32_t sleep,
		       bool is_behind)
{
	return row->sort == LOOK_TOLD && row->naps_once == is_behind &&
	       compiler->classes->of_op[sleep] == row->class;
}

void script_look_begins(struct compiler *compiler, uint32_t sleep)
{
	struct script *script = compiler->script;
	const struct look_row *row = looks_of(&script->looks, compiler->rec, sleep);
	bool is_first = row && row->first == sleep;

	if (is_first)
		script->look_spans[row - script->looks.rows].first = (uint32_t)script->step_count;
	if (is_first && row->sort == LOOK_TOLD)
		compiler->thread.told = row;
	if (!row || !is_looking(compiler, row))
		return;
	if (row->sort == LOOK_TOLD ? is_told_at(compiler, row, sleep, false) : is_first)
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

	if (!row || (row->sort == LOOK_TOLD && !is_told_at(compiler, row, sleep, true)))
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

static void gives_permit(struct compiler *compiler, uint32_t link)
{
	uint32_t semaphore = addresses_find(&compiler->found->semaphores, compiler->thread.process,
					    compiler->rec->links[link].address);

	script_emit(compiler, STEP_POST, semaphore, 0);
}

void script_told_ends(struct compiler *compiler)
{
	struct script *script = compiler->script;
	const struct look_row *row = compiler->thread.told;

	if (!row || row->naps_once)
		return;
	uint32_t number = (uint32_t)(row - script->looks.rows);
	script->look_spans[number].end = (uint32_t)script->step_count;
	script_emit(compiler, STEP_LOOK, number, 0);
	script_emit(compiler, STEP_AGAIN, 0, 0);
	row_ends(script, number);
	if (row->post != NO_INDEX)
		gives_permit(compiler, row->post);
}

void script_posts(struct compiler *compiler, uint32_t link)
{
	const struct look_row *row = compiler->thread.told;

	if (!row || row->naps_once || row->post != link)
		gives_permit(compiler, link);
}

/* The thread has the lock for itself before it comes for the first one of a round again. */
static bool gets(const struct compiler *compiler, uint32_t hold, uint64_t address)
{
	const struct rec_op_extra *extras = compiler->rec->extras;
	size_t end = compiler->timeline->first[compiler->thread.index + 1];

	for (size_t i = compiler->thread.at; i < end; i++) {
		const struct moment *moment = &compiler->timeline->moments[i];
		uint32_t op = moment->index;

		if ((moment_type(moment) != MOMENT_OP_BEGIN &&
		     moment_type(moment) != MOMENT_OP_POINT) ||
		    compiler->rec->ops[op].kind != KIND_HOLD)
			continue;
		if (op != hold && extras[op].address == extras[hold].address &&
		    extras[op].shared == extras[hold].shared)
			return false;
		if (extras[op].address == address && !extras[op].shared)
			return true;
	}
	return false;
}

/* Those of a row that the thread does not have yet. */
static void take_ahead(struct compiler *compiler, uint32_t hold, const struct look_row *row)
{
	uint32_t *has_ahead = compiler->gathered.has_ahead, mark = compiler->thread.index + 1;

	for (uint32_t i = row->first_lock; i < row->first_lock + row->lock_count; i++) {
		const struct look_lock *look = &compiler->script->looks.locks[i];

		if (look->is_read || look->lock == NO_INDEX || has_ahead[look->lock] == mark ||
		    !gets(compiler, hold, look->address))
			continue;
		has_ahead[look->lock] = mark;
		script_emit(compiler, STEP_ACQUIRE, look->lock, LATENCY_UNKNOWN);
	}
}

void script_round_begins(struct compiler *compiler, uint32_t hold)
{
	const struct look_row *rows = compiler->script->looks.rows;
	const struct rec_op_extra *extras = compiler->rec->extras;
	uint32_t lock = compiler->releases->lock_of[hold];
	uint32_t number = compiler->gathered.row_of_lock[lock];

	if (number != NO_INDEX && extras[hold].shared == extras[rows[number].hold].shared)
		take_ahead(compiler, hold, &rows[number]);
	if (!extras[hold].shared)
		compiler->gathered.has_ahead[lock] = compiler->thread.index + 1;
}

void script_round_ends(struct compiler *compiler, uint32_t hold)
{
	if (!compiler->rec->extras[hold].shared)
		compiler->gathered.has_ahead[compiler->releases->lock_of[hold]] = 0;
}

/* Of several rows that go on with one lock, the one that waited for most. */
void script_rounds_find(struct compiler *compiler)
{
	const struct script *script = compiler->script;
	uint32_t *rows = memory_new(script->lock_count, sizeof(*rows));

	memset(rows, 0xff, script->lock_count * sizeof(*rows));
	for (uint32_t i = 0; i < script->looks.count; i++) {
		const struct look_row *row = &script->looks.rows[i];
		uint32_t *known = row->hold == NO_INDEX
					  ? NULL
					  : &rows[compiler->releases->lock_of[row->hold]];
		if (known &&
		    (*known == NO_INDEX || row->lock_count > script->looks.rows[*known].lock_count))
			*known = i;
	}
	compiler->gathered.row_of_lock = rows;
	compiler->gathered.has_ahead =
		memory_new(script->lock_count, sizeof(*compiler->gathered.has_ahead));
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
		if (looks->rows[i].sort >= LOOK_GUESS && looks->rows[i].ender != NO_INDEX)
			found->marks[found->mark_count++] = i;
	if (found->mark_count)
		qsort_r(found->marks, found->mark_count, sizeof(*found->marks), compare_marks,
			looks->rows);
}

/* Between two looks a thread gives back what it takes: so it may leave the row at either. */
static bool is_balanced(const struct script *script, size_t look)
{
	struct script_balance balance = { .size = 0 };
	const struct step *step = &script->steps[look + 1];

	for (; step->type != STEP_LOOK && step->type != STEP_AGAIN; step++)
		if (!script_balances(&balance, script, step))
			return false;
	return script_is_even(&balance);
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

/* The row at its first look; other looks in it are its own. */
static bool is_row_whole(const struct script *script, size_t first, const bool *is_reached)
{
	const struct step *steps = script->steps;
	uint32_t number = steps[first].arg;

	if (!steps[first].jump || !is_reached[number] || !is_whole(script, first))
		return false;
	for (size_t i = first; i < first + steps[first].jump; i++)
		if (steps[i].type == STEP_LOOK && !is_balanced(script, i))
			return false;
	for (size_t i = first + 1; i < first + steps[first].jump; i++)
		if (steps[i].type == STEP_LOOK && steps[i].arg != number)
			return false;
	return true;
}

static void look_forget(struct step *step)
{
	*step = (struct step){ .arg = NO_INDEX, .type = STEP_FIXED };
}

/* As recorded: the looks go, and so does what the last one goes back from. */
static void row_forget(struct script *script, size_t first)
{
	uint64_t jump = script->steps[first].jump;
	uint32_t number = script->steps[first].arg;
	bool is_cut = !is_whole(script, first);

	/* Work that is done as often as it was is no row. */
	script->looks.rows[number].sort =
		script->looks.rows[number].sort == LOOK_TOLD ? LOOK_WORK : LOOK_KEPT;
	for (size_t i = first; i < first + jump && script->steps[i].type != STEP_END; i++)
		if (script->steps[i].type == STEP_LOOK && script->steps[i].arg == number)
			look_forget(&script->steps[i]);
	if (!is_cut)
		look_forget(&script->steps[first + jump]);
}

void script_looks_complete(struct script *script)
{
	bool *is_reached = memory_new(script->looks.count, sizeof(*is_reached));

	for (size_t i = 0; i < script->looks.count; i++)
		is_reached[i] = script->looks.rows[i].sort == LOOK_LOCKED;
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
