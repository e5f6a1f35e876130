/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles a graph into a program; program.h says what that is.
 *
 * The rules of the replay, of which this is the symbolic execution:
 * - An op's clock starts at its simulated start and goes through its actions in recorded order. A
 * self segment advances it. A child is started: its simulated start, if it has none, is the clock.
 * A wait for another op that lasted until that op's end, or nearly, is a join: the
 * clock is raised to the target's finish. A wait without a target is a delay of its length. Any
 * other wait was given up early and costs nothing.
 * - Before each action, all children that had ended by its recorded time are joined, in the order
 * in which they ended. After the last action, those are that had ended by the op's recorded end.
 * Children beside the op (on other threads) are joined only there.
 * - An op runs once, when its finish is first needed. If nothing has started it by then, its parent
 * is run first. If there is none, or it is running already, the op is anchored. An anchor is its
 * recorded distance from its parent's simulated start, or its recorded start. Joining an op that is
 * running is a broken cycle: it counts as taking as long as recorded.
 * - Roots come in recorded order. Each starts as far after (or before) the end of the chain of
 * roots before it as recorded. A root that ended no earlier than that chain becomes its new end.
 * - The makespan goes from the earliest start of a root to the latest finish of one. A root may be
 * pulled to before the epoch by a chain that became shorter. Such a start counts only until the
 * next root, as in the format's ancestor: either analyzer gives the same answer.
 *
 * The stack of running ops is an array of frames, as ops may nest by the million. The starts of
 * running ops are needed only by anchors and broken cycles. The code is compiled without keeping
 * them first, and once more with them if they turn out to be needed. One thread.
 */
#include "program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "layout.h"
#include "program_code.h"
#include "recording/actions.h"

enum op_state { OP_UNKNOWN, OP_STARTED, OP_RUNNING, OP_DONE };

/* More that is known of an op. */
enum op_flag {
	OP_IS_SHARED = 1, /* an op other than its parent waits for it */
	OP_IS_JOINED = 2  /* its parent's clock has been raised to its finish already */
};

enum stage { STAGE_NEEDED, STAGE_PARENT_RAN, STAGE_RUNNING };

/* An op whose finish is needed. */
struct frame {
	uint32_t op;
	uint32_t value; /* its clock: its own, or its parent's while that has nothing else to do */
	enum stage stage;
	uint32_t joining; /* op to join as soon as it is done, NO_INDEX = none */
	uint32_t ended;   /* next child in graph->ended to join */
	uint32_t beside;  /* the same of children beside the op, at the end */
	bool has_action;
	struct action action;
	struct actions actions;
};

struct compiler {
	const struct graph *graph;
	const struct class_table *classes;
	struct program *program;
	struct code code;
	struct frame *frames;
	size_t frame_count, frame_room;
	uint8_t *state; /* enum op_state per op */
	uint8_t *flags; /* enum op_flag per op */
	bool has_threads;
	bool needs_starts; /* something asked for the start of a running op */
	bool keeps_starts;
	/* Values of the compiler's own; ops' kept starts come after them. */
	uint32_t chain_value, start_value, end_value, scratch_value, first_kept_value;
};

static void frame_push(struct compiler *compiler, uint32_t op, uint32_t value)
{
	compiler->frames = memory_grow(compiler->frames, &compiler->frame_room,
				       compiler->frame_count + 1, sizeof(*compiler->frames));
	struct frame *frame = &compiler->frames[compiler->frame_count++];
	frame->op = op;
	frame->value = value;
	frame->stage = STAGE_NEEDED;
	frame->joining = NO_INDEX;
}

/* Value that holds the simulated start of a running op. */
static uint32_t start_of_running(struct compiler *compiler, uint32_t op)
{
	assert(compiler->state[op] == OP_RUNNING);
	compiler->needs_starts = true;
	return compiler->keeps_starts ? compiler->first_kept_value + op : op;
}

static void op_anchor(struct compiler *compiler, uint32_t op)
{
	const struct rec_op *ops = compiler->graph->recording->ops;
	uint32_t parent = compiler->graph->parent[op];
	compiler->program->fallback_anchors++;
	compiler->state[op] = OP_STARTED;
	if (parent == NO_INDEX) {
		code_set(&compiler->code, op, ops[op].start_ns);
		return;
	}
	code_emit(&compiler->code, INSTR_COPY, op, start_of_running(compiler, parent));
	code_add(&compiler->code, op, (int64_t)(ops[op].start_ns - ops[parent].start_ns));
}

static void frame_join_cycle(struct compiler *compiler, const struct frame *frame, uint32_t target)
{
	const struct rec_op *ops = compiler->graph->recording->ops;
	compiler->program->broken_cycles++;
	code_emit(&compiler->code, INSTR_COPY, compiler->scratch_value,
		  start_of_running(compiler, target));
	code_add(&compiler->code, compiler->scratch_value,
		 (int64_t)(ops[target].end_ns - ops[target].start_ns));
	code_emit(&compiler->code, INSTR_MAX, frame->value, compiler->scratch_value);
}

/*
 * Whether a child that has to run can do so on the clock of the top frame. It was started just now,
 * by the last instruction. Its parent does nothing until it is done, and nobody else asks for its
 * finish.
 */
static bool frame_lends_clock(const struct compiler *compiler, const struct frame *frame,
			      uint32_t target)
{
	return compiler->state[target] == OP_STARTED &&
	       compiler->graph->parent[target] == frame->op &&
	       !(compiler->flags[target] & OP_IS_SHARED) &&
	       code_just_started(&compiler->code, target, frame->value);
}

/* Raises the top frame's clock to target's finish; false when target has to run first. */
static bool frame_join(struct compiler *compiler, uint32_t target)
{
	struct frame *frame = &compiler->frames[compiler->frame_count - 1];
	bool is_child = compiler->graph->parent[target] == frame->op;
	if (compiler->state[target] == OP_RUNNING) {
		frame_join_cycle(compiler, frame, target);
		return true;
	}
	/* Clocks never go back, so once is enough. */
	if (is_child && (compiler->flags[target] & OP_IS_JOINED))
		return true;
	if (is_child)
		compiler->flags[target] |= OP_IS_JOINED;
	if (compiler->state[target] == OP_DONE) {
		code_emit(&compiler->code, INSTR_MAX, frame->value, target);
		return true;
	}
	if (frame_lends_clock(compiler, frame, target)) {
		code_take_back(&compiler->code);
		frame_push(compiler, target, frame->value);
	} else {
		frame->joining = target;
		frame_push(compiler, target, target);
	}
	return false;
}

/* A child of the top frame begins at its clock, unless it has begun. */
static void frame_start_child(struct compiler *compiler, uint32_t child)
{
	if (compiler->state[child] != OP_UNKNOWN)
		return;
	code_emit(&compiler->code, INSTR_COPY, child,
		  compiler->frames[compiler->frame_count - 1].value);
	compiler->state[child] = OP_STARTED;
}

/* Joins the children that had ended by until_ns; false when one has to run first. */
static bool frame_join_ended(struct compiler *compiler, uint64_t until_ns)
{
	const struct graph *graph = compiler->graph;
	struct frame *frame = &compiler->frames[compiler->frame_count - 1];
	uint32_t to = graph->first_child[frame->op + 1];
	while (frame->ended < to) {
		uint32_t child = graph->ended[frame->ended];
		if (graph->recording->ops[child].end_ns > until_ns)
			break;
		frame->ended++;
		if (compiler->has_threads && graph_is_beside(graph, child))
			continue;
		frame_start_child(compiler, child);
		if (!frame_join(compiler, child))
			return false;
	}
	return true;
}

/* Joins the children on other threads that had ended by the op's end; false when one has to run
 * first. */
static bool frame_join_beside(struct compiler *compiler)
{
	const struct graph *graph = compiler->graph;
	struct frame *frame = &compiler->frames[compiler->frame_count - 1];
	const struct rec_op *ops = graph->recording->ops;
	uint32_t to = compiler->has_threads ? frame->ended : frame->beside;
	while (frame->beside < to) {
		uint32_t child = graph->ended[frame->beside++];
		/* Actions after the op's end may have gone past children that ended after it, too.
		 */
		if (graph_is_beside(graph, child) && ops[child].end_ns <= ops[frame->op].end_ns &&
		    !frame_join(compiler, child))
			return false;
	}
	return true;
}

/* Whether a wait lasted until its target, another op, ended. */
static bool wait_is_join(const struct graph *graph, uint32_t wait_index)
{
	const struct rec_wait *wait = &graph->recording->waits[wait_index];
	uint32_t target = graph->wait_target[wait_index];
	if (target == NO_INDEX || target == wait->waiter)
		return false;
	uint64_t target_end_ns = graph->recording->ops[target].end_ns;
	return wait->end_ns >= target_end_ns || target_end_ns - wait->end_ns <= assume.join_slack;
}

/* Waits of the top frame; false when the target has to run first. */
static bool frame_wait(struct compiler *compiler, uint32_t wait_index)
{
	const struct graph *graph = compiler->graph;
	const struct rec_wait *wait = &graph->recording->waits[wait_index];
	if (graph->wait_target[wait_index] == NO_INDEX) {
		code_add(&compiler->code, compiler->frames[compiler->frame_count - 1].value,
			 (int64_t)(wait->end_ns - wait->start_ns));
		return true;
	}
	return !wait_is_join(graph, wait_index) ||
	       frame_join(compiler, graph->wait_target[wait_index]);
}

static void frame_begin(struct compiler *compiler, struct frame *frame)
{
	uint32_t op = frame->op;
	frame->stage = STAGE_RUNNING;
	frame->ended = frame->beside = compiler->graph->first_child[op];
	frame->has_action = false;
	actions_begin(&frame->actions, compiler->graph, op);
	compiler->state[op] = OP_RUNNING;
	if (frame->value == op)
		code_stream_begin(&compiler->code, op, true);
	if (compiler->keeps_starts)
		code_emit(&compiler->code, INSTR_COPY, compiler->first_kept_value + op,
			  frame->value);
}

static void frame_end(struct compiler *compiler, struct frame *frame)
{
	if (frame->value == frame->op)
		code_stream_end(&compiler->code);
	compiler->state[frame->op] = OP_DONE;
	compiler->frame_count--;
}

/* Goes on with the top frame, a running op, until it is done or another op has to run first. */
static void frame_run(struct compiler *compiler)
{
	const struct rec_op *ops = compiler->graph->recording->ops;
	struct frame *frame = &compiler->frames[compiler->frame_count - 1];
	if (frame->joining != NO_INDEX) {
		assert(compiler->state[frame->joining] == OP_DONE);
		code_emit(&compiler->code, INSTR_MAX, frame->value, frame->joining);
		frame->joining = NO_INDEX;
	}
	for (;;) {
		if (!frame->has_action)
			frame->has_action = actions_next(&frame->actions, &frame->action);
		if (!frame_join_ended(compiler, frame->has_action ? frame->action.at_ns
								  : ops[frame->op].end_ns))
			return;
		if (!frame->has_action)
			break;
		code_stream_cut(&compiler->code);
		frame->has_action = false;
		switch (frame->action.type) {
		case ACTION_SELF:
			code_run(&compiler->code, compiler->classes->of_op[frame->op], frame->value,
				 frame->action.length_ns);
			break;
		case ACTION_CHILD:
			frame_start_child(compiler, frame->action.index);
			break;
		case ACTION_WAIT:
			if (!frame_wait(compiler, frame->action.index))
				return;
			break;
		}
	}
	if (frame_join_beside(compiler))
		frame_end(compiler, frame);
}

/* Goes on with the top frame, an op that does not run yet. */
static void frame_resolve(struct compiler *compiler)
{
	struct frame *frame = &compiler->frames[compiler->frame_count - 1];
	uint32_t op = frame->op, parent = compiler->graph->parent[op];
	if (compiler->state[op] == OP_DONE) {
		compiler->frame_count--;
		return;
	}
	assert(compiler->state[op] != OP_RUNNING);
	if (compiler->state[op] == OP_UNKNOWN && frame->stage == STAGE_NEEDED &&
	    parent != NO_INDEX && compiler->state[parent] != OP_RUNNING) {
		frame->stage = STAGE_PARENT_RAN;
		frame_push(compiler, parent, parent);
		return;
	}
	if (compiler->state[op] == OP_UNKNOWN)
		op_anchor(compiler, op);
	frame_begin(compiler, frame);
}

static void op_finish(struct compiler *compiler, uint32_t op)
{
	assert(compiler->frame_count == 0);
	frame_push(compiler, op, op);
	while (compiler->frame_count > 0) {
		if (compiler->frames[compiler->frame_count - 1].stage == STAGE_RUNNING)
			frame_run(compiler);
		else
			frame_resolve(compiler);
	}
	assert(compiler->state[op] == OP_DONE);
}

/* Where a root begins: by the chain of roots, unless it was anchored when another root needed it.
 */
static void root_start(struct compiler *compiler, uint32_t root, uint64_t chain_end_ns)
{
	uint64_t start_ns = compiler->graph->recording->ops[root].start_ns;
	if (compiler->state[root] == OP_UNKNOWN) {
		code_emit(&compiler->code, INSTR_COPY, root, compiler->chain_value);
		code_add(&compiler->code, root, (int64_t)(start_ns - chain_end_ns));
		compiler->state[root] = OP_STARTED;
		code_emit(&compiler->code, INSTR_FIRST, compiler->start_value, root);
	} else {
		code_set(&compiler->code, compiler->scratch_value, start_ns);
		code_emit(&compiler->code, INSTR_FIRST, compiler->start_value,
			  compiler->scratch_value);
	}
}

/* Ops that somebody else waits for need a clock of their own. */
static void find_shared(struct compiler *compiler)
{
	const struct graph *graph = compiler->graph;
	for (uint32_t i = 0; i < graph->recording->wait_count; i++) {
		uint32_t target = graph->wait_target[i], waiter = graph->recording->waits[i].waiter;
		if (waiter != NO_INDEX && target != NO_INDEX && graph->parent[target] != waiter)
			compiler->flags[target] |= OP_IS_SHARED;
	}
}

static void compile_roots(struct compiler *compiler)
{
	const struct graph *graph = compiler->graph;
	const struct rec_op *ops = graph->recording->ops;
	uint64_t chain_end_ns = graph->root_count ? ops[graph->roots[0]].start_ns : 0;
	code_set(&compiler->code, compiler->chain_value, chain_end_ns);
	code_set(&compiler->code, compiler->start_value, chain_end_ns);
	code_set(&compiler->code, compiler->end_value, chain_end_ns);
	code_stream_begin(&compiler->code, compiler->chain_value, false);
	for (uint32_t i = 0; i < graph->root_count; i++) {
		uint32_t root = graph->roots[i];
		code_stream_cut(&compiler->code);
		root_start(compiler, root, chain_end_ns);
		op_finish(compiler, root);
		if (ops[root].end_ns >= chain_end_ns) {
			chain_end_ns = ops[root].end_ns;
			code_emit(&compiler->code, INSTR_COPY, compiler->chain_value, root);
		}
		code_emit(&compiler->code, INSTR_MAX, compiler->end_value, root);
	}
	code_stream_end(&compiler->code);
	/* Named last, so that their slots are not given away. */
	code_emit(&compiler->code, INSTR_FIRST, compiler->start_value, compiler->start_value);
	code_emit(&compiler->code, INSTR_MAX, compiler->end_value, compiler->end_value);
}

/* One pass over the graph. Returns whether starts were needed that were not kept. */
static bool compile_once(struct program *program, const struct graph *graph,
			 const struct class_table *classes, bool keeps_starts)
{
	uint32_t ops = graph->op_count;
	struct compiler compiler = {
		.graph = graph,
		.classes = classes,
		.program = program,
		.code = { .program = program },
		.state = memory_new(ops, sizeof(*compiler.state)),
		.flags = memory_new(ops, sizeof(*compiler.flags)),
		.has_threads = graph->recording->thread_count > 0,
		.keeps_starts = keeps_starts,
		.chain_value = ops,
		.start_value = ops + 1,
		.end_value = ops + 2,
		.scratch_value = ops + 3,
		.first_kept_value = ops + 4,
	};
	*program = (struct program){ 0 };
	find_shared(&compiler);
	compile_roots(&compiler);
	code_finish(&compiler.code, classes->count);
	free(compiler.frames);
	free(compiler.state);
	free(compiler.flags);
	program->start_slot = compiler.start_value;
	program->end_slot = compiler.end_value;
	if (compiler.needs_starts && !keeps_starts)
		return true;
	layout_program(program,
		       keeps_starts ? compiler.first_kept_value + ops : compiler.first_kept_value);
	return false;
}

void program_compile(struct program *program, const struct graph *graph,
		     const struct class_table *classes)
{
	assert(graph->op_count < PROGRAM_VALUES_MAX / 2 - 4);
	if (!compile_once(program, graph, classes, false))
		return;
	program_free(program);
	compile_once(program, graph, classes, true);
}

void program_free(struct program *program)
{
	free(program->code);
	free(program->regions);
	free(program->edges);
	free(program->constants);
	free(program->first_run);
	free(program->runs);
	*program = (struct program){ 0 };
}
