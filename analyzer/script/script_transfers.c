/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait for the other end of a pipe or socket, as steps.
 *
 * A call writes or reads the bytes of a transfer, or waits for the end of the process that has the
 * other end. A poll is part of the read after it. One thread.
 */
#include "format.h"
#include "script_parts.h"

#include <assert.h>

static const struct transfer *transfer_of(const struct compiler *compiler, uint32_t op)
{
	uint32_t transfer = compiler->script->flows.transfer_of[op];

	return transfer == NO_INDEX ? NULL : &compiler->script->flows.transfers[transfer];
}

/* The call that a poll was for: the next one of the thread. */
static uint32_t call_after(const struct compiler *compiler, uint32_t poll)
{
	const struct timeline *timeline = compiler->timeline;

	for (size_t i = compiler->thread.at + 1; i < timeline->first[compiler->thread.index + 1];
	     i++) {
		const struct moment *moment = &timeline->moments[i];
		enum moment_type type = moment_type(moment);

		if (moment->index == poll && type == MOMENT_OP_END)
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

/* Waits for the end of whoever else has the pipe, if that is what it did. */
static bool end_awaited(struct compiler *compiler, uint32_t op, uint32_t read)
{
	const struct rec_op *call = &compiler->rec->ops[op];
	uint32_t actor = script_ending_actor(compiler, read, call->start_ns);

	if (actor == NO_INDEX)
		return false;
	uint64_t end_ns = compiler->rec->ops[compiler->rec->threads[actor].op].end_ns;
	script_emit(compiler, STEP_JOIN, actor, call->end_ns > end_ns ? call->end_ns - end_ns : 0);
	wait_in(compiler, op);
	return true;
}

void script_poll_begins(struct compiler *compiler, uint32_t op)
{
	const struct rec_op *poll = &compiler->rec->ops[op];
	uint32_t read = compiler->rec->extras[op].amount ? call_after(compiler, op) : NO_INDEX;

	if (read == NO_INDEX || end_awaited(compiler, op, read))
		return;
	const struct transfer *transfer = transfer_of(compiler, read);
	if (!transfer || transfer->is_write || transfer->first_ns <= poll->start_ns)
		return;
	script_emit(compiler, STEP_AWAIT, compiler->script->flows.transfer_of[read],
		    poll->end_ns > transfer->first_ns ? poll->end_ns - transfer->first_ns : 0);
	wait_in(compiler, op);
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
	if (!transfer->is_write && flows->flows[transfer->flow].is_shared)
		script_taken_add(compiler, compiler->rec->ops[op].end_ns);
	return transfer->has_waited;
}

/* A call between two descriptors takes first, and then gives. */
void script_transfer_begins(struct compiler *compiler, uint32_t op)
{
	const struct flows *flows = &compiler->script->flows;
	uint32_t own = flows->transfer_of[op], other = flows->other_of[op];
	bool is_own_first = own == NO_INDEX || !flows->transfers[own].is_write;
	bool has_waited = transfer_step(compiler, op, is_own_first ? own : other);

	if (transfer_step(compiler, op, is_own_first ? other : own) || has_waited)
		wait_in(compiler, op);
	else if (own == NO_INDEX)
		end_awaited(compiler, op, op);
}

bool script_write_wakes(const struct compiler *compiler, uint32_t op)
{
	const struct transfer *own = transfer_of(compiler, op);
	uint32_t other = compiler->script->flows.other_of[op];

	return !compiler->thread.is_skipping &&
	       ((own && own->is_write) ||
		(other != NO_INDEX && compiler->script->flows.transfers[other].is_write));
}
