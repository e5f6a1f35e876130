/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait for the other end of a pipe or socket, as steps.
 *
 * A call writes or reads the bytes of a transfer, or waits for the end of the process that has the
 * other end. A poll is part of the read after it, or waits for that of another thread
 * (script_handed.c). One of an event loop is part of a visit.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "format.h"
#include "script_parts.h"

#include <assert.h>
#include <string.h>

static const struct transfer *transfer_of(const struct compiler *compiler, uint32_t op)
{
	uint32_t transfer = compiler->script->flows.transfer_of[op];

	return transfer == NO_INDEX ? NULL : &compiler->script->flows.transfers[transfer];
}

/* A poll that finds out once more what the one before it said. */
static bool is_glance(const struct recording *rec, uint32_t op)
{
	const struct rec_op *poll = &rec->ops[op];

	return poll->kind == KIND_POLL && rec->extras[op].amount &&
	       poll->end_ns - poll->start_ns <= assume.copy;
}

/* It only tells others something. */
static bool is_answer(const struct recording *rec, uint32_t op)
{
	return rec->ops[op].kind == KIND_IO &&
	       flow_direction_of(rec->strings[rec->ops[op].name]) == FLOW_WRITE;
}

/* Such as having a lock or permit before the read. An interpreter has its own lock back, too,
 * which it gives away during calls. */
static bool is_on_the_way(const struct recording *rec, const struct moment *moment)
{
	switch (moment_type(moment)) {
	case MOMENT_OP_BEGIN:
	case MOMENT_OP_POINT:
	case MOMENT_OP_END:
		return rec->ops[moment->index].kind == KIND_HOLD || is_glance(rec, moment->index) ||
		       is_answer(rec, moment->index);
	case MOMENT_LINK:
		return rec->links[moment->index].kind == LINK_WAKE ||
		       rec->links[moment->index].kind == LINK_POST;
	case MOMENT_WAIT_BEGIN:
	case MOMENT_WAIT_POINT:
	case MOMENT_WAIT_END:
		break;
	}
	return rec->waits[moment->index].reason == REASON_MUTEX ||
	       rec->waits[moment->index].reason == REASON_COND ||
	       rec->waits[moment->index].reason == REASON_SEM;
}

/* The call that a poll was for: the next one of the thread. */
static uint32_t call_after(const struct compiler *compiler, uint32_t poll)
{
	const struct timeline *timeline = compiler->timeline;

	for (size_t i = compiler->thread.at + 1; i < timeline->first[compiler->thread.index + 1];
	     i++) {
		const struct moment *moment = &timeline->moments[i];
		enum moment_type type = moment_type(moment);

		bool is_its_end = type == MOMENT_OP_END && moment->index == poll;

		if (is_its_end || is_on_the_way(compiler->rec, moment))
			continue;
		if (type != MOMENT_OP_BEGIN && type != MOMENT_OP_POINT)
			break;
		return moment->index;
	}
	return NO_INDEX;
}

/* From now on the thread is in a call that ends with another actor's doing. */
static void wait_in(struct compiler *compiler, uint32_t op)
{
	assert(op < compiler->rec->op_count && !compiler->thread.is_skipping);
	compiler->thread.awaited_op = op;
	compiler->thread.is_waiting = true;
}

/* The call that begins now is a wait that has steps of its own. */
static bool is_wait(const struct compiler *compiler, uint32_t op)
{
	size_t next = compiler->thread.at + 1;

	if (next >= compiler->timeline->first[compiler->thread.index + 1])
		return false;
	const struct moment *moment = &compiler->timeline->moments[next];

	return moment_type(moment) == MOMENT_WAIT_BEGIN &&
	       compiler->rec->waits[moment->index].waiter == op;
}

/* Waits for the end of whoever else has the pipe, if that is what it did. */
static bool end_awaited(struct compiler *compiler, uint32_t op, uint32_t read)
{
	const struct rec_op *call = &compiler->rec->ops[op];
	uint32_t actor = is_wait(compiler, op)
				 ? NO_INDEX
				 : script_ending_actor(compiler, read, call->start_ns);

	if (actor == NO_INDEX)
		return false;
	uint64_t end_ns = compiler->rec->ops[compiler->rec->threads[actor].op].end_ns;
	script_emit(compiler, STEP_JOIN, actor, call->end_ns > end_ns ? call->end_ns - end_ns : 0);
	wait_in(compiler, op);
	return true;
}

/* Its time passes in one step at its end, unless the event comes first. */
static bool poll_races(struct compiler *compiler, uint32_t op)
{
	if (is_wait(compiler, op) || !script_poll_timed_out(compiler->rec, op) ||
	    !script_may_race(compiler, true))
		return false;
	wait_in(compiler, op);
	compiler->thread.is_racing = true;
	return true;
}

void script_poll_times_out(struct compiler *compiler, uint32_t op)
{
	const struct rec_op *poll = &compiler->rec->ops[op];

	if (!compiler->thread.is_racing)
		return;
	compiler->thread.is_racing = false;
	script_race(compiler, true);
	script_emit(compiler, STEP_DELAY, script_scope(compiler), poll->end_ns - poll->start_ns);
}

/* A poll of an event loop that begins no visit: what it found is visited later. */
static bool is_look(const struct compiler *compiler, uint32_t op)
{
	const struct loops *loops = &compiler->script->loops;

	return loops->loop_of_thread[compiler->thread.index] != NO_INDEX &&
	       loops->visit_of[op] == NO_INDEX && !compiler->thread.has_left_loop;
}

void script_poll_begins(struct compiler *compiler, uint32_t op)
{
	const struct rec_op *poll = &compiler->rec->ops[op];
	if (is_look(compiler, op) || poll_races(compiler, op))
		return;
	bool is_for_bytes =
		compiler->rec->extras[op].amount && !rec_waits_for_signal(compiler->rec, op);
	uint32_t read = is_for_bytes ? call_after(compiler, op) : NO_INDEX;

	if (read != NO_INDEX && end_awaited(compiler, op, read))
		return;
	const struct flows *flows = &compiler->script->flows;
	uint32_t index = read == NO_INDEX ? NO_INDEX : flows->transfer_of[read];
	if (index == NO_INDEX)
		index = compiler->found->handed[op];
	if (index == NO_INDEX)
		return;
	const struct transfer *transfer = &flows->transfers[index];
	if (transfer->is_write || transfer->first_ns <= poll->start_ns ||
	    transfer->first_ns > poll->end_ns)
		return;
	script_emit(compiler, STEP_AWAIT, index,
		    poll->end_ns > transfer->first_ns ? poll->end_ns - transfer->first_ns : 0);
	script_race_ends(compiler, op, true);
	wait_in(compiler, op);
}

bool script_visit_begins(struct compiler *compiler, uint32_t op)
{
	const struct loops *loops = &compiler->script->loops;
	uint32_t index = loops->visit_of[op];

	if (index == NO_INDEX)
		return false;
	const struct visit *visit = &loops->visits[index];
	bool has_waited = visit->latency_ns != VISIT_HAS_NOT_WAITED;

	script_tries_give_up(compiler);
	script_emit(compiler, STEP_VISIT, index,
		    has_waited && visit->sort == VISIT_EVENT ? visit->latency_ns
							     : loops->latency_ns);
	if (visit->sort == VISIT_TIMER)
		script_emit(compiler, STEP_DELAY,
			    scopes_add(&compiler->script->scopes,
				       compiler->classes->of_op[visit->timer], NULL, 0),
			    visit->timer_ns);
	if (has_waited)
		wait_in(compiler, op);
	return compiler->rec->ops[op].kind == KIND_POLL && visit->sort != VISIT_BARRIER;
}

void script_loop_ends(struct compiler *compiler, uint32_t op)
{
	const struct loops *loops = &compiler->script->loops;
	uint32_t thread = compiler->thread.index;

	if (loops->end_visit[thread] == NO_INDEX || compiler->thread.has_left_loop ||
	    (op != NO_INDEX && op != loops->end_op[thread]))
		return;
	script_tries_give_up(compiler);
	script_emit(compiler, STEP_VISIT, loops->end_visit[thread], loops->latency_ns);
	compiler->thread.has_left_loop = true;
}

static bool transfer_step(struct compiler *compiler, uint32_t op, uint32_t index)
{
	const struct flows *flows = &compiler->script->flows;

	if (index == NO_INDEX)
		return false;
	const struct transfer *transfer = &flows->transfers[index];

	assert(index < flows->transfer_count);
	script_emit(compiler, transfer->is_write ? STEP_SEND : STEP_RECEIVE, index,
		    transfer->latency_ns);
	if (!transfer->is_write && flows->flows[transfer->flow].is_shared && !transfer->is_rest)
		script_taken_add(compiler, compiler->rec->ops[op].end_ns);
	return transfer->has_waited;
}

/* The holder of a file's lock is not known: it is let go by any of several calls, or the end of a
 * process. */
static bool waits_for_file(const struct compiler *compiler, uint32_t op)
{
	static const char *const calls[] = { "flock", "fcntl", "lockf" };
	const struct rec_op *call = &compiler->rec->ops[op];

	if (call->end_ns - call->start_ns <= assume.copy)
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(compiler->rec->strings[call->name], calls[i]) == 0)
			return true;
	return false;
}

/* A call between two descriptors takes first, and then gives. */
void script_transfer_begins(struct compiler *compiler, uint32_t op)
{
	const struct flows *flows = &compiler->script->flows;
	uint32_t own = flows->transfer_of[op], other = flows->other_of[op];

	own = own == NO_INDEX ? flows->end_of[op] : own;
	bool is_own_first = own == NO_INDEX || !flows->transfers[own].is_write;
	bool has_waited = transfer_step(compiler, op, is_own_first ? own : other);

	if (transfer_step(compiler, op, is_own_first ? other : own) || has_waited)
		wait_in(compiler, op);
	else if (own == NO_INDEX && !end_awaited(compiler, op, op) &&
		 waits_for_file(compiler, op)) {
		script_stays(compiler, NO_INDEX,
			     compiler->rec->ops[op].end_ns - compiler->rec->ops[op].start_ns);
		wait_in(compiler, op);
	}
}

bool script_write_wakes(const struct compiler *compiler, uint32_t op)
{
	const struct transfer *own = transfer_of(compiler, op);
	uint32_t other = compiler->script->flows.other_of[op];

	return !compiler->thread.is_skipping &&
	       ((own && own->is_write) ||
		(other != NO_INDEX && compiler->script->flows.transfers[other].is_write));
}
