/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the steps of the thread that is being compiled: the half of the compilation on which all
 * others rest.
 *
 * Method. Steps are added at the end of the script. The time between two moments is run by the
 * innermost op's class. It is a delay when that op is a call that waits for something outside. Time
 * inside a wait for another actor is dropped: the step of that wait takes its place.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "recording/words.h"
#include "script_parts.h"

#include <assert.h>
#include <string.h>

static bool concerns_others(enum step_type type)
{
	enum step_operand operand = script_contract(type)->operand;

	return operand != OPERAND_NOTHING && operand != OPERAND_SCOPE && operand != OPERAND_STAMP &&
	       operand != OPERAND_ROUND && operand != OPERAND_PIECE;
}

static enum origin_sort sort_of(enum moment_type type)
{
	switch (type) {
	case MOMENT_WAIT_BEGIN:
	case MOMENT_WAIT_END:
	case MOMENT_WAIT_POINT:
		return ORIGIN_WAIT;
	case MOMENT_LINK:
		return ORIGIN_LINK;
	case MOMENT_OP_BEGIN:
	case MOMENT_OP_END:
	case MOMENT_OP_POINT:
		break;
	}
	return ORIGIN_OP;
}

/* The moment that is being compiled. */
static void origin_add(struct compiler *compiler)
{
	struct script *script = compiler->script;
	size_t at = compiler->thread.at;

	if (at >= compiler->timeline->first[compiler->thread.index + 1])
		return;
	const struct moment *moment = &compiler->timeline->moments[at];

	script->origins = memory_grow(script->origins, &compiler->gathered.origin_capacity,
				      script->origin_count + 1, sizeof(*script->origins));
	script->origins[script->origin_count++] =
		(struct step_origin){ .step = (uint32_t)script->step_count,
				      .index = moment->index & ORIGIN_INDEX_MAX,
				      .sort = sort_of(moment_type(moment)) };
}

void script_origin_is_wait(struct compiler *compiler, uint32_t wait)
{
	struct script *script = compiler->script;

	if (!script->origin_count ||
	    script->origins[script->origin_count - 1].step + 1 != script->step_count)
		return;
	script->origins[script->origin_count - 1].index = wait & ORIGIN_INDEX_MAX;
	script->origins[script->origin_count - 1].sort = ORIGIN_WAIT;
}

void script_origins_drop(struct compiler *compiler, uint32_t step)
{
	struct script *script = compiler->script;

	while (script->origin_count && script->origins[script->origin_count - 1].step >= step)
		script->origin_count--;
}

void script_emit(struct compiler *compiler, enum step_type type, uint32_t arg, uint64_t ns)
{
	struct script *script = compiler->script;

	assert(type <= STEP_END && script->step_count < NO_INDEX);
	if (concerns_others(type))
		origin_add(compiler);
	script->steps = memory_grow(script->steps, &compiler->gathered.step_capacity,
				    script->step_count + 1, sizeof(*script->steps));
	script->steps[script->step_count++] = (struct step){ .ns = ns, .arg = arg, .type = type };
}

/* --- time that passes --- */

uint32_t script_scope(struct compiler *compiler)
{
	uint32_t held[OPEN_OPS_MAX];
	size_t held_count = 0;
	uint32_t leaf = compiler->thread.class;

	assert(compiler->thread.open_count <= OPEN_OPS_MAX);
	if (compiler->thread.scope != NO_INDEX)
		return compiler->thread.scope;
	if (compiler->thread.adopted != NO_INDEX)
		leaf = compiler->classes->of_op[compiler->thread.adopted];
	for (size_t i = 0; i < compiler->thread.open_count; i++) {
		uint32_t op = compiler->thread.open[i];

		leaf = compiler->classes->of_op[op];
		if (compiler->rec->ops[op].kind == KIND_HOLD)
			held[held_count++] = leaf;
	}
	compiler->thread.scope = scopes_add(&compiler->script->scopes, leaf, held, held_count);
	return compiler->thread.scope;
}

/* A call on a pipe or socket that uses a CPU and does not wait. If the other end is known, a wait
 * for that has a step of its own. If not, the bytes that are written go into a buffer. */
static bool only_copies(const struct compiler *compiler, uint32_t op)
{
	const struct rec_op *io = &compiler->rec->ops[op];
	const char *ident = compiler->rec->strings[io->ident];

	if (compiler->script->flows.transfer_of[op] != NO_INDEX)
		return true;
	if (strncmp(ident, "tcp ", 4) != 0 && strncmp(ident, "udp ", 4) != 0 &&
	    strncmp(ident, "unix", 4) != 0 && !flow_is_pipe(ident))
		return false;
	enum flow_direction direction = flow_direction_of(compiler->rec->strings[io->name]);
	return direction == FLOW_WRITE ||
	       (direction == FLOW_READ && io->end_ns - io->start_ns <= assume.copy);
}

static bool waits_outside(const struct compiler *compiler)
{
	if (!compiler->thread.open_count)
		return false;
	uint32_t op = compiler->thread.open[compiler->thread.open_count - 1];
	uint16_t kind = compiler->rec->ops[op].kind;

	if (kind == KIND_IO && compiler->script->was_crowded && only_copies(compiler, op))
		return false;
	return words_is_call(kind);
}

bool script_is_holding(const struct compiler *compiler)
{
	for (size_t i = 0; i < compiler->thread.open_count; i++) {
		uint32_t op = compiler->thread.open[i];

		if (compiler->rec->ops[op].kind == KIND_HOLD && !compiler->rec->extras[op].open)
			return true;
	}
	return false;
}

static void runs(struct compiler *compiler, uint64_t ns)
{
	for (;;) {
		uint64_t piece_ns = script_quantum_piece(compiler, ns);

		if (compiler->script->was_crowded)
			script_runs_add(&compiler->gathered.runs,
					(uint32_t)compiler->script->step_count, piece_ns);
		script_emit(compiler, STEP_RUN, script_scope(compiler), piece_ns);
		if (piece_ns == ns)
			return;
		ns -= piece_ns;
	}
}

void script_pass(struct compiler *compiler, uint64_t to_ns)
{
	uint64_t from_ns = compiler->thread.now_ns;

	if (to_ns <= from_ns)
		return;
	compiler->thread.now_ns = to_ns;
	if (compiler->thread.is_skipping || compiler->thread.is_waiting)
		return;
	bool is_outside = waits_outside(compiler);
	if (!is_outside && compiler->thread.frame_count && !script_is_holding(compiler)) {
		compiler->script->unresolved_ns += to_ns - from_ns;
		compiler->script->unresolved_calls_ns += to_ns - from_ns;
		script_emit(compiler, STEP_FIXED,
			    compiler->thread.frames[compiler->thread.frame_count - 1],
			    to_ns - from_ns);
		return;
	}
	if (!is_outside) {
		runs(compiler, to_ns - from_ns);
		return;
	}
	script_runs_called(&compiler->gathered.runs);
	script_quantum_passes(compiler, to_ns - from_ns);
	script_emit(compiler, STEP_DELAY, script_scope(compiler), to_ns - from_ns);
}

/* Keeps the longest one, to name it. */
static void stay_note(struct script *script, uint32_t wait)
{
	const struct rec_wait *waits = script->recording->waits;
	uint32_t longest = script->unresolved_wait;

	if (wait != NO_INDEX &&
	    (longest == NO_INDEX || waits[wait].end_ns - waits[wait].start_ns >
					    waits[longest].end_ns - waits[longest].start_ns))
		script->unresolved_wait = wait;
}

void script_stays(struct compiler *compiler, uint32_t wait, uint64_t ns)
{
	assert(!compiler->thread.is_skipping);
	stay_note(compiler->script, wait);
	compiler->script->unresolved_waits++;
	compiler->script->unresolved_ns += ns;
	compiler->script->unresolved_calls_ns += wait == NO_INDEX ? ns : 0;
	uint32_t scope = script_scope(compiler);
	uint32_t leaf = compiler->script->scopes.scopes[scope].leaf;
	if (leaf != NO_INDEX)
		compiler->script->unresolved_of_class_ns[leaf] += ns;
	script_emit(compiler, STEP_FIXED, wait, ns);
}

void script_taken_add(struct compiler *compiler, uint64_t end_ns)
{
	const struct script *script = compiler->script;

	assert(script->step_count > 0 &&
	       script_source(script, &script->steps[script->step_count - 1]) != NO_INDEX);
	compiler->gathered.taken =
		memory_grow(compiler->gathered.taken, &compiler->gathered.taken_capacity,
			    compiler->gathered.taken_count + 1, sizeof(*compiler->gathered.taken));
	compiler->gathered.taken[compiler->gathered.taken_count++] =
		(struct taken){ end_ns,
				script_source(script, &script->steps[script->step_count - 1]),
				(uint32_t)script->step_count,
				compiler->thread.index,
				0,
				false,
				false };
}

void script_open(struct compiler *compiler, uint32_t op)
{
	assert(op < compiler->rec->op_count);
	if (compiler->thread.open_count < OPEN_OPS_MAX)
		compiler->thread.open[compiler->thread.open_count++] = op;
	compiler->thread.scope = NO_INDEX;
}

void script_close(struct compiler *compiler, uint32_t op)
{
	assert(op < compiler->rec->op_count);
	for (size_t i = compiler->thread.open_count; i-- > 0;) {
		if (compiler->thread.open[i] != op)
			continue;
		memmove(&compiler->thread.open[i], &compiler->thread.open[i + 1],
			(compiler->thread.open_count - i - 1) * sizeof(compiler->thread.open[0]));
		compiler->thread.open_count--;
		break;
	}
	compiler->thread.scope = NO_INDEX;
}

void script_stamps(struct compiler *compiler, uint32_t op, enum stamp_point point)
{
	size_t count;
	const struct requests *requests = &compiler->script->requests;
	const struct stamp_place *places = requests_places(requests, op, point, &count);

	assert(op < compiler->rec->op_count);
	for (size_t i = 0; i < count && !compiler->thread.is_skipping; i++) {
		const struct request *request = &requests->requests[places[i].stamp / 2];

		/* of an exchange whose ends are both recorded the one that asks is enough */
		if ((places[i].stamp % 2 || !script_is_asked(compiler->script, op)) &&
		    (request->source != REQUEST_SERVED || request->of == NO_INDEX))
			script_emit(compiler, STEP_STAMP, places[i].stamp, 0);
	}
}
