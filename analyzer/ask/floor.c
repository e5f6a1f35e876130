/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays the run with every class at nothing; floor.h has the contract.
 *
 * The critical path of that replay has only pinned pieces. They are summed by cause: thread
 * class, step type, and the op or call in which the thread was. Five sorts of time are no wait
 * for something unknown, and not counted. A process that nobody in the recording started begins
 * when it began. A schedule goes on as it is. Clients that are not recorded think for as long as
 * they do. A wake-up is a cost of its own, as long as it takes no longer than such take. So is
 * the way to sleep and back to a CPU.
 */
#include "floor.h"

#include <assert.h>
#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "recording/hosts.h"

struct pieces {
	const struct script *script;
	const struct class_table *classes;
	struct floor_cause *causes;
	size_t count;
	size_t capacity;
	double uncounted_ns;
};

/* The process of its parent is recorded. */
static bool has_parent(const struct recording *recording, uint32_t process)
{
	for (uint32_t i = 0; i < recording->process_count; i++)
		if (hosts_are_one(recording, i, process) &&
		    recording->processes[i].pid == recording->processes[process].ppid)
			return true;
	return false;
}

bool floor_is_of_later_run(const struct recording *recording, uint32_t thread)
{
	uint32_t op = thread < recording->thread_count ? recording->threads[thread].op : NO_INDEX;
	bool has_ended = false;
	for (size_t t = 0; op != NO_INDEX && t < recording->thread_count; t++) {
		uint32_t other = recording->threads[t].op;
		if (other == NO_INDEX ||
		    recording->ops[other].start_ns >= recording->ops[op].start_ns)
			continue;
		if (recording->extras[other].open ||
		    recording->ops[other].end_ns > recording->ops[op].start_ns)
			return false;
		has_ended = true;
	}
	return has_ended;
}

/* Began a process by itself, beside others: the run had not come to it before. */
static bool is_begin(const struct recording *recording, uint32_t thread)
{
	uint32_t process = recording->threads[thread].process;
	if (recording->threads[thread].tid != recording->processes[process].pid)
		return false;
	return !has_parent(recording, process) && !floor_is_of_later_run(recording, thread);
}

static uint32_t class_of_op(const struct class_table *classes, uint32_t op)
{
	return op == NO_INDEX ? NO_INDEX : classes->of_op[op];
}

/* Time that is no wait whose end is not known. `step`: NULL = of no step. */
static bool is_uncounted(const struct script *script, const struct trace_piece *piece,
			 const struct step *step)
{
	bool is_clients = script->clients.count && piece->actor >= script->clients.first_thread;
	if (is_clients || piece->part == TRACE_CPU)
		return true;
	if (piece->part == TRACE_START && is_begin(script->recording, piece->actor))
		return true;
	if (piece->part == TRACE_WAKE_UP && piece->to_ns - piece->from_ns <= assume.crossing_most)
		return true;
	return step && (step->type == STEP_UNTIL || step->type == STEP_TIMED);
}

static void add_piece(void *context, const struct trace_piece *piece)
{
	struct pieces *pieces = context;
	const struct script *script = pieces->script;
	const struct recording *recording = script->recording;
	const struct step *step = piece->step == NO_INDEX ? NULL : &script->steps[piece->step];
	struct floor_cause cause = { .ns = piece->to_ns - piece->from_ns,
				     .part = piece->part,
				     .type = STEP_END,
				     .thread = piece->actor,
				     .thread_class = NO_INDEX,
				     .class = NO_INDEX,
				     .wait = NO_INDEX };
	if (is_uncounted(script, piece, step)) {
		pieces->uncounted_ns += (double)cause.ns;
		return;
	}
	if (piece->actor < recording->thread_count)
		cause.thread_class =
			class_of_op(pieces->classes, recording->threads[piece->actor].op);
	if (step) {
		enum step_operand operand = script_contract((enum step_type)step->type)->operand;
		cause.type = (enum step_type)step->type;
		if (piece->part == TRACE_WAKE_UP &&
		    piece->step == script->actors[piece->actor].first_step)
			cause.type = STEP_SPAWN;
		if (operand == OPERAND_SCOPE)
			cause.class = script->scopes.scopes[step->arg].leaf;
		if (operand == OPERAND_WAIT)
			cause.wait = step->arg;
		if (cause.wait != NO_INDEX)
			cause.class =
				class_of_op(pieces->classes, recording->waits[cause.wait].waiter);
	}
	pieces->causes = memory_grow(pieces->causes, &pieces->capacity, pieces->count + 1,
				     sizeof(*pieces->causes));
	pieces->causes[pieces->count++] = cause;
}

static uint32_t call_of(const struct recording *recording, uint32_t wait)
{
	return wait == NO_INDEX ? 0 : recording->waits[wait].name;
}

/* By cause; of one cause the longest piece first. */
static int compare_by_cause(const void *left, const void *right, void *context)
{
	const struct floor_cause *a = left, *b = right;
	uint32_t a_call = call_of(context, a->wait), b_call = call_of(context, b->wait);
	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->thread_class != b->thread_class)
		return a->thread_class < b->thread_class ? -1 : 1;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return (a_call > b_call) - (a_call < b_call);
}

static int compare_pieces(const void *left, const void *right, void *context)
{
	const struct floor_cause *a = left, *b = right;
	int order = compare_by_cause(left, right, context);
	return order ? order : (a->ns < b->ns) - (a->ns > b->ns);
}

static void find_worst(struct floor *floor, struct pieces *pieces)
{
	struct recording *recording = (struct recording *)pieces->script->recording;
	struct floor_cause cause = { .ns = 0 };
	if (pieces->count)
		qsort_r(pieces->causes, pieces->count, sizeof(*pieces->causes), compare_pieces,
			recording);
	for (size_t i = 0; i < pieces->count; i++) {
		const struct floor_cause *piece = &pieces->causes[i];
		bool is_same = i > 0 && !compare_by_cause(piece - 1, piece, recording);
		uint64_t before_ns = is_same ? cause.ns : 0;
		if (!is_same)
			cause = *piece;
		cause.ns = before_ns + piece->ns;
		floor->floor_ns += (double)piece->ns;
		if (cause.ns > floor->worst.ns)
			floor->worst = cause;
	}
}

void floor_build(struct floor *floor, const struct script *script,
		 const struct class_table *classes, const bool *is_kept, double factor,
		 const struct replayer *replayer)
{
	struct pieces pieces = { script, classes, NULL, 0, 0, 0 };
	struct scaling *scalings = memory_new(classes->count, sizeof(*scalings));
	struct trace trace;
	struct trial trial = { .scalings = scalings, .trace = &trace };
	*floor = (struct floor){ .floor_ns = 0 };
	for (uint32_t i = 0; i < classes->count; i++)
		if (!is_kept[i])
			scalings[trial.count++] = (struct scaling){ i, factor };
	trace_begin(&trace, script->actor_count);
	floor->forced_steps = replayer_try(replayer, &trial).forced_steps;
	trace_walk(&trace, script->start_ns, add_piece, &pieces);
	floor->uncounted_ns = pieces.uncounted_ns;
	find_worst(floor, &pieces);
	free(pieces.causes);
	trace_free(&trace);
	free(scalings);
}
