/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles a graph into a program; program.h says what that is.
 *
 * The rules of the replay, of which this is the symbolic execution:
 * - An op's clock starts at its simulated start and goes through its actions in recorded order. A
 * self segment advances it. A child is started: its simulated start, if it has none, is the clock.
 * A wait for another op that lasted until that op's end (give or take JOIN_SLACK_NS) is a join: the
 * clock is raised to the target's finish. A wait without a target is a delay of its length. Any
 * other wait was given up early and costs nothing.
 * - Before each action, all children that had ended by its recorded time are joined, in the order
 * in which they ended; after the last action, those that had ended by the op's recorded end.
 * Children beside the op (on other threads) are joined only there.
 * - An op runs once, when its finish is first needed. If nothing has started it by then its parent
 * is run first; if that is running already (or there is none) the op is anchored: as far from its
 * parent's simulated start as recorded, or at its recorded start. Joining an op that is running is
 * a broken cycle: it counts as taking as long as recorded.
 * - Roots come in recorded order. Each starts as far after (or before) the end of the chain of
 * roots before it as recorded; a root that ended no earlier than that chain becomes its new end.
 * - The makespan goes from the earliest start of a root to the latest finish of one. A root may be
 * pulled to before the epoch by a chain that became shorter; as in the format's ancestor, such a
 * start counts only until the next root, so that either analyzer gives the same answer.
 *
 * The stack of running ops is an array of frames, as ops may nest by the million. The starts of
 * running ops are needed only by anchors and broken cycles: the code is compiled without keeping
 * them first, and once more with them if they turn out to be needed.
 */
#include "program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actions.h"
#include "layout.h"
#include "memory.h"

enum {
	JOIN_SLACK_NS =
		1000000, /* a wait that ended up to this long before its target still was for it */
	REGION_INSTRS_MIN = 4, /* shorter regions are not worth their ENTER */
	BLOCK_SHIFT = 6, /* actions of one op to a block, blocks to a larger one, as a power of 2 */
	BLOCK_LEVELS = 3
};

enum op_state { OP_UNKNOWN, OP_STARTED, OP_RUNNING, OP_DONE };

/* What else is known of an op. */
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
	uint32_t beside;  /* likewise, for the children beside the op, at the end */
	bool has_action;
	struct action action;
	struct actions actions;
	uint32_t region;
	uint32_t step_count;
	uint32_t blocks[BLOCK_LEVELS]; /* open regions of stretches of the op, NO_INDEX = none */
};

/* A run instruction as it is emitted. */
struct run {
	uint32_t class;
	uint32_t at;
};

struct compiler {
	const struct graph *graph;
	const struct class_table *classes;
	struct program *program;
	size_t instr_room, region_room, constant_room, run_room, frame_room;
	uint32_t constant_count;
	struct run *runs;
	uint32_t run_count;
	struct frame *frames;
	size_t frame_count;
	uint8_t *state; /* enum op_state per op */
	uint8_t *flags; /* enum op_flag per op */
	bool has_threads;
	bool needs_starts; /* something asked for the start of a running op */
	bool keeps_starts;
	/* Values of the compiler's own; ops' kept starts come after them. */
	uint32_t chain_value, start_value, end_value, scratch_value, first_kept_value;
};

static void emit(struct compiler *compiler, enum instr_what what, uint32_t value, uint32_t operand)
{
	struct program *program = compiler->program;
	assert(value < PROGRAM_VALUES_MAX);
	program->code = memory_grow(program->code, &compiler->instr_room,
				    (size_t)program->instr_count + 1, sizeof(*program->code));
	program->code[program->instr_count++] =
		(struct instr){ .what = what, .slot = value, .operand = operand };
	assert(program->instr_count < RUNS_END);
}

static uint32_t emit_constant(struct compiler *compiler, double constant)
{
	struct program *program = compiler->program;
	program->constants =
		memory_grow(program->constants, &compiler->constant_room,
			    (size_t)compiler->constant_count + 1, sizeof(*program->constants));
	program->constants[compiler->constant_count] = constant;
	return compiler->constant_count++;
}

static void emit_add(struct compiler *compiler, uint32_t value, int64_t add_ns)
{
	if (add_ns >= 0 && add_ns <= UINT32_MAX)
		emit(compiler, INSTR_ADD, value, (uint32_t)add_ns);
	else
		emit(compiler, INSTR_WIDE, value, emit_constant(compiler, (double)add_ns));
}

static void emit_run(struct compiler *compiler, const struct frame *frame, uint64_t length_ns)
{
	compiler->runs = memory_grow(compiler->runs, &compiler->run_room,
				     (size_t)compiler->run_count + 1, sizeof(*compiler->runs));
	compiler->runs[compiler->run_count++] =
		(struct run){ compiler->classes->of_op[frame->op], compiler->program->instr_count };
	if (length_ns <= UINT32_MAX)
		emit(compiler, INSTR_RUN, frame->value, (uint32_t)length_ns);
	else
		emit(compiler, INSTR_WIDE, frame->value,
		     emit_constant(compiler, (double)length_ns));
}

static uint32_t region_open(struct compiler *compiler, uint32_t value)
{
	struct program *program = compiler->program;
	program->regions =
		memory_grow(program->regions, &compiler->region_room,
			    (size_t)program->region_count + 1, sizeof(*program->regions));
	emit(compiler, INSTR_ENTER, value, program->region_count);
	program->regions[program->region_count] = (struct region){ .end = program->instr_count };
	return program->region_count++;
}

/* Takes the ENTER at `at` out again: nothing but plain instructions has come after it. */
static void region_undo(struct compiler *compiler, uint32_t at)
{
	struct program *program = compiler->program;
	uint32_t left = program->instr_count - at - 1;
	memmove(&program->code[at], &program->code[at + 1], left * sizeof(*program->code));
	for (uint32_t i = compiler->run_count; i > 0 && compiler->runs[i - 1].at > at; i--)
		compiler->runs[i - 1].at--;
	program->instr_count--;
	program->region_count--;
}

static void region_close(struct compiler *compiler, uint32_t region)
{
	struct program *program = compiler->program;
	uint32_t begin =
		program->regions[region].end; /* until now, the first instruction after its ENTER */
	if (region + 1 == program->region_count && program->instr_count - begin < REGION_INSTRS_MIN)
		region_undo(compiler, begin - 1);
	else
		program->regions[region].end = program->instr_count;
}

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
		emit(compiler, INSTR_SET, op, emit_constant(compiler, (double)ops[op].start_ns));
		return;
	}
	emit(compiler, INSTR_COPY, op, start_of_running(compiler, parent));
	emit_add(compiler, op, (int64_t)(ops[op].start_ns - ops[parent].start_ns));
}

static void frame_join_cycle(struct compiler *compiler, const struct frame *frame, uint32_t target)
{
	const struct rec_op *ops = compiler->graph->recording->ops;
	compiler->program->broken_cycles++;
	emit(compiler, INSTR_COPY, compiler->scratch_value, start_of_running(compiler, target));
	emit_add(compiler, compiler->scratch_value,
		 (int64_t)(ops[target].end_ns - ops[target].start_ns));
	emit(compiler, INSTR_MAX, frame->value, compiler->scratch_value);
}

/*
 * Whether a child that has to run can do so on the clock of the top frame: it was started just now,
 * by the last instruction, its parent does nothing until it is done, and nobody else asks for its
 * finish.
 */
static bool frame_lends_clock(const struct compiler *compiler, const struct frame *frame,
			      uint32_t target)
{
	const struct program *program = compiler->program;
	const struct instr *last = &program->code[program->instr_count - 1];
	return compiler->state[target] == OP_STARTED &&
	       compiler->graph->parent[target] == frame->op &&
	       !(compiler->flags[target] & OP_IS_SHARED) && last->what == INSTR_COPY &&
	       last->slot == target && last->operand == frame->value;
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
		emit(compiler, INSTR_MAX, frame->value, target);
		return true;
	}
	if (frame_lends_clock(compiler, frame, target)) {
		compiler->program->instr_count--;
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
	emit(compiler, INSTR_COPY, child, compiler->frames[compiler->frame_count - 1].value);
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
	return wait->end_ns >= target_end_ns || target_end_ns - wait->end_ns <= JOIN_SLACK_NS;
}

/* Waits of the top frame; false when the target has to run first. */
static bool frame_wait(struct compiler *compiler, uint32_t wait_index)
{
	const struct graph *graph = compiler->graph;
	const struct rec_wait *wait = &graph->recording->waits[wait_index];
	if (graph->wait_target[wait_index] == NO_INDEX) {
		emit_add(compiler, compiler->frames[compiler->frame_count - 1].value,
			 (int64_t)(wait->end_ns - wait->start_ns));
		return true;
	}
	return !wait_is_join(graph, wait_index) ||
	       frame_join(compiler, graph->wait_target[wait_index]);
}

/* Blocks: every so many steps of a long op its code is cut, so that stretches of it can be skipped.
 */
static void frame_cut_blocks(struct compiler *compiler)
{
	struct frame *frame = &compiler->frames[compiler->frame_count - 1];
	uint32_t step = frame->step_count++;
	if (step & ((1u << BLOCK_SHIFT) - 1))
		return;
	for (int level = 0; level < BLOCK_LEVELS; level++) {
		if ((step & ((1u << (BLOCK_SHIFT * (level + 1))) - 1)) == 0 &&
		    frame->blocks[level] != NO_INDEX) {
			region_close(compiler, frame->blocks[level]);
			frame->blocks[level] = NO_INDEX;
		}
	}
	const struct graph *graph = compiler->graph;
	uint32_t op = frame->op;
	uint64_t step_max = (uint64_t)(graph->first_child[op + 1] - graph->first_child[op]) +
			    (graph->first_wait[op + 1] - graph->first_wait[op]);
	for (int level = BLOCK_LEVELS; level-- > 0;)
		if (frame->blocks[level] == NO_INDEX &&
		    step_max >= 2ull << (BLOCK_SHIFT * (level + 1)))
			frame->blocks[level] = region_open(compiler, frame->value);
}

static void frame_begin(struct compiler *compiler, struct frame *frame)
{
	uint32_t op = frame->op;
	frame->stage = STAGE_RUNNING;
	frame->ended = frame->beside = compiler->graph->first_child[op];
	frame->has_action = false;
	frame->step_count = 0;
	for (int level = 0; level < BLOCK_LEVELS; level++)
		frame->blocks[level] = NO_INDEX;
	actions_begin(&frame->actions, compiler->graph, op);
	compiler->state[op] = OP_RUNNING;
	frame->region = region_open(compiler, frame->value);
	if (compiler->keeps_starts)
		emit(compiler, INSTR_COPY, compiler->first_kept_value + op, frame->value);
}

static void frame_end(struct compiler *compiler, struct frame *frame)
{
	for (int level = 0; level < BLOCK_LEVELS; level++)
		if (frame->blocks[level] != NO_INDEX)
			region_close(compiler, frame->blocks[level]);
	region_close(compiler, frame->region);
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
		emit(compiler, INSTR_MAX, frame->value, frame->joining);
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
		frame_cut_blocks(compiler);
		frame->has_action = false;
		switch (frame->action.type) {
		case ACTION_SELF:
			emit_run(compiler, frame, frame->action.length_ns);
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
		emit(compiler, INSTR_COPY, root, compiler->chain_value);
		emit_add(compiler, root, (int64_t)(start_ns - chain_end_ns));
		compiler->state[root] = OP_STARTED;
		emit(compiler, INSTR_FIRST, compiler->start_value, root);
	} else {
		emit(compiler, INSTR_SET, compiler->scratch_value,
		     emit_constant(compiler, (double)start_ns));
		emit(compiler, INSTR_FIRST, compiler->start_value, compiler->scratch_value);
	}
}

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
	uint32_t first = emit_constant(compiler, (double)chain_end_ns);
	emit(compiler, INSTR_SET, compiler->chain_value, first);
	emit(compiler, INSTR_SET, compiler->start_value, first);
	emit(compiler, INSTR_SET, compiler->end_value, first);
	for (uint32_t i = 0; i < graph->root_count; i++) {
		uint32_t root = graph->roots[i];
		root_start(compiler, root, chain_end_ns);
		op_finish(compiler, root);
		if (ops[root].end_ns >= chain_end_ns) {
			chain_end_ns = ops[root].end_ns;
			emit(compiler, INSTR_COPY, compiler->chain_value, root);
		}
		emit(compiler, INSTR_MAX, compiler->end_value, root);
	}
	/* Named last, so that their slots are not given away. */
	emit(compiler, INSTR_FIRST, compiler->start_value, compiler->start_value);
	emit(compiler, INSTR_MAX, compiler->end_value, compiler->end_value);
}

/* Lists the run instructions class by class. */
static void compile_runs(struct compiler *compiler)
{
	struct program *program = compiler->program;
	uint32_t class_count = compiler->classes->count;
	program->class_count = class_count;
	program->first_run = memory_new((size_t)class_count + 1, sizeof(*program->first_run));
	program->runs =
		memory_new((size_t)compiler->run_count + class_count, sizeof(*program->runs));
	for (uint32_t i = 0; i < compiler->run_count; i++)
		program->first_run[compiler->runs[i].class + 1]++;
	for (uint32_t i = 0; i < class_count; i++)
		program->first_run[i + 1] += program->first_run[i] + 1;
	uint32_t *next = memory_new(class_count, sizeof(*next));
	memcpy(next, program->first_run, class_count * sizeof(*next));
	for (uint32_t i = 0; i < compiler->run_count; i++)
		program->runs[next[compiler->runs[i].class]++] = compiler->runs[i].at;
	for (uint32_t i = 0; i < class_count; i++) {
		assert(next[i] + 1 == program->first_run[i + 1]);
		program->runs[next[i]] = RUNS_END;
	}
	free(next);
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
	compile_runs(&compiler);
	free(compiler.runs);
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
	free(program->exports);
	free(program->constants);
	free(program->first_run);
	free(program->runs);
	*program = (struct program){ 0 };
}
