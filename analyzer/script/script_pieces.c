/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of work that threads share out: where they begin and end among the steps of each thread.
 *
 * Another thread may run a piece. So there is nothing in it that depends on whose it is: no wait
 * but for locks, no job, no schedule. Where there is, all rounds of that family stay as they were.
 *
 * One thread.
 */
#include "base/memory.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>

static const struct piece_mark *next_mark(const struct compiler *compiler)
{
	const struct pieces *pieces = &compiler->found->pieces;
	size_t next = compiler->gathered.next_piece;

	return next < pieces->mark_count && pieces->marks[next].moment == compiler->thread.at
		       ? &pieces->marks[next]
		       : NULL;
}

static void mark_emit(struct compiler *compiler, const struct piece_mark *mark)
{
	if (mark->is_first)
		script_emit(compiler, STEP_PIECES, mark->round, 0);
	if (mark->piece != NO_INDEX)
		script_emit(compiler, STEP_PIECE, mark->piece, 0);
	else
		script_emit(compiler, STEP_NEXT, mark->round, 0);
	compiler->gathered.next_piece++;
}

void script_pieces_before(struct compiler *compiler)
{
	const struct piece_mark *mark = next_mark(compiler);

	if (!mark || !mark->is_first)
		return;
	script_pass(compiler, compiler->timeline->moments[mark->moment].at_ns);
	mark_emit(compiler, mark);
}

void script_pieces_behind(struct compiler *compiler)
{
	const struct piece_mark *mark = next_mark(compiler);

	if (mark)
		mark_emit(compiler, mark);
}

/* --- all threads' --- */

static const bool is_anyones[STEP_END + 1] = {
	[STEP_RUN] = true,     [STEP_WAKING] = true,  [STEP_DELAY] = true,   [STEP_FIXED] = true,
	[STEP_OVERRUN] = true, [STEP_STAMP] = true,   [STEP_ACQUIRE] = true, [STEP_RELEASE] = true,
	[STEP_SHARE] = true,   [STEP_UNSHARE] = true, [STEP_GRAB] = true,    [STEP_TRY] = true,
	[STEP_AGAIN] = true,   [STEP_PUT] = true,     [STEP_SIGNAL] = true,  [STEP_POST] = true,
	[STEP_SEND] = true,    [STEP_REACH] = true,   [STEP_PIECE] = true,
};

/* The STEP_NEXT of a STEP_PIECES; 0 = something between them is not anyone's. Counts pieces. */
static size_t end_of_pieces(const struct script *script, size_t from, uint32_t *count)
{
	size_t i = from + 1;

	for (; is_anyones[script->steps[i].type]; i++)
		*count += script->steps[i].type == STEP_PIECE;
	return script->steps[i].type == STEP_NEXT && script->steps[i].arg == script->steps[from].arg
		       ? i
		       : 0;
}

/* By family: whether a round of it has a piece that not anyone can do. */
static bool *families_left(const struct compiler *compiler)
{
	const struct script *script = compiler->script;
	const struct pieces *pieces = &compiler->found->pieces;
	uint32_t *counts = memory_new(pieces->round_count, sizeof(*counts));
	bool *is_left = memory_new(compiler->classes->count, sizeof(*is_left));

	for (size_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];

		if (step->type == STEP_PIECES && !end_of_pieces(script, i, &counts[step->arg]))
			is_left[pieces->rounds[step->arg].family] = true;
	}
	for (size_t i = 0; i < pieces->round_count; i++)
		if (counts[i] != pieces->rounds[i].count)
			is_left[pieces->rounds[i].family] = true;
	free(counts);
	return is_left;
}

void script_pieces_complete(struct compiler *compiler)
{
	struct script *script = compiler->script;
	const struct pieces *pieces = &compiler->found->pieces;
	bool *is_left = families_left(compiler);

	script->rounds = memory_new(pieces->round_count, sizeof(*script->rounds));
	script->round_count = pieces->round_count;
	script->piece_count = pieces->piece_count;
	for (size_t i = 0; i < pieces->round_count; i++) {
		const struct round *round = &pieces->rounds[i];

		if (is_left[round->family])
			continue;
		script->rounds[i] =
			(struct script_round){ round->first, round->count, round->is_sure };
		script->has_unsure_rounds |= !round->is_sure;
	}
	for (size_t i = 0; i < script->step_count; i++) {
		struct step *step = &script->steps[i];
		uint32_t count = 0;

		if (step->type == STEP_PIECES && script->rounds[step->arg].count)
			step->jump = end_of_pieces(script, i, &count) - i;
	}
	free(is_left);
}
