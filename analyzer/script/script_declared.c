/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops and waits that the program declares by the calls of wcprof.h: its ops go from thread to
 * thread, and its waits lie around others.
 *
 * Method. A call on an op's other thread has it as its parent: so it is seen which thread works for
 * an op. A thread whose next call belongs to an outer op has left the inner ones. A request ends on
 * the thread that did the last of its op, not on the one that it began on.
 *
 * A wait in which something else was recorded is only a frame around that: what is inside has a
 * cause of its own. The rest of it has none, and stays as long as it was.
 *
 * One thread.
 */
#include "base/memory.h"
#include "format.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_declared_op(const struct recording *rec, uint32_t op)
{
	switch (rec->ops[op].kind) {
	case KIND_NONE:
	case KIND_EXEC:
	case KIND_IO:
	case KIND_PROCESS:
	case KIND_THREAD:
	case KIND_HOLD:
	case KIND_POLL:
	case KIND_SLEEP:
	case KIND_DNS:
		return false;
	default:
		return true;
	}
}

/* --- ops --- */

/* The op of another thread that something of this one belongs to. */
static uint32_t foreign_op(const struct recording *rec, uint32_t parent, uint32_t thread)
{
	while (parent != NO_INDEX && rec->ops[parent].thread == thread &&
	       rec->ops[parent].kind != KIND_THREAD)
		parent = rec->ops[parent].parent;
	if (parent == NO_INDEX || rec->ops[parent].thread == thread || !is_declared_op(rec, parent))
		return NO_INDEX;
	return parent;
}

/* Of what belongs to an op the last that ends before it does tells who ended it. */
static void worker_note(struct found *found, const struct recording *rec, uint32_t op,
			uint32_t thread, uint64_t end_ns, uint64_t *last_ns)
{
	bool is_own = thread != NO_INDEX;

	for (; is_own && op != NO_INDEX && rec->ops[op].kind != KIND_THREAD;
	     op = rec->ops[op].parent) {
		is_own = rec->ops[op].thread == thread;
		if (!is_declared_op(rec, op) || end_ns < last_ns[op] ||
		    end_ns > rec->ops[op].end_ns)
			continue;
		found->worker_of[op] = is_own ? NO_INDEX : thread;
		last_ns[op] = end_ns;
	}
}

void script_declared_find(struct found *found, const struct recording *rec)
{
	size_t declared = 0;

	assert(!found->worker_of);
	for (uint32_t i = 0; i < rec->op_count; i++)
		declared += is_declared_op(rec, i);
	if (!declared)
		return;
	uint64_t *last_ns = memory_new(rec->op_count, sizeof(*last_ns));
	found->worker_of = memory_new(rec->op_count, sizeof(*found->worker_of));
	memset(found->worker_of, 0xff, rec->op_count * sizeof(*found->worker_of));
	for (size_t i = 0; i < rec->op_count; i++)
		worker_note(found, rec, rec->ops[i].parent, rec->ops[i].thread, rec->ops[i].end_ns,
			    last_ns);
	for (size_t i = 0; i < rec->wait_count; i++)
		worker_note(found, rec, rec->waits[i].waiter, rec->waits[i].thread,
			    rec->waits[i].end_ns, last_ns);
	free(last_ns);
}

static bool is_inside(const struct recording *rec, uint32_t op, uint32_t outer)
{
	while (op != NO_INDEX && op != outer)
		op = rec->ops[op].parent;
	return op == outer;
}

void script_op_belongs(struct compiler *compiler, uint32_t op)
{
	/* of one that is declared the parent may be, too, whoever does it */
	if (compiler->found->worker_of && !is_declared_op(compiler->rec, op))
		script_belongs(compiler, compiler->rec->ops[op].parent);
}

void script_belongs(struct compiler *compiler, uint32_t parent)
{
	const struct recording *rec = compiler->rec;

	assert(parent == NO_INDEX || parent < rec->op_count);
	if (!compiler->found->worker_of || parent == NO_INDEX)
		return;
	for (size_t i = compiler->thread.open_count; i-- > 0;)
		if (is_declared_op(rec, compiler->thread.open[i]) &&
		    !is_inside(rec, parent, compiler->thread.open[i]))
			script_close(compiler, compiler->thread.open[i]);
	uint32_t adopted = foreign_op(rec, parent, compiler->thread.index);
	if (adopted == compiler->thread.adopted)
		return;
	compiler->thread.adopted = adopted;
	compiler->thread.scope = NO_INDEX;
}

void script_adopted_until(struct compiler *compiler, uint64_t at_ns)
{
	uint32_t op = compiler->thread.adopted;

	if (op == NO_INDEX || compiler->rec->ops[op].end_ns > at_ns)
		return;
	script_pass(compiler, compiler->rec->ops[op].end_ns);
	if (compiler->found->worker_of[op] == compiler->thread.index)
		script_stamps(compiler, op, STAMP_END);
	compiler->thread.adopted = NO_INDEX;
	compiler->thread.scope = NO_INDEX;
}

bool script_ends_elsewhere(const struct compiler *compiler, uint32_t op)
{
	assert(op < compiler->rec->op_count);
	return compiler->found->worker_of && compiler->found->worker_of[op] != NO_INDEX;
}

/* --- waits --- */

static bool is_declared_wait(const struct rec_wait *wait)
{
	return wait->reason < REASON_MUTEX && !wait->name;
}

/* Something else begins in it, on the same thread. */
static bool is_frame(const struct compiler *compiler, const struct rec_wait *wait)
{
	const struct timeline *timeline = compiler->timeline;
	size_t end = timeline->first[compiler->thread.index + 1];

	for (size_t i = compiler->thread.at + 1; i < end; i++) {
		const struct moment *moment = &timeline->moments[i];

		if (moment->at_ns >= wait->end_ns)
			return false;
		if (moment_type(moment) != MOMENT_OP_END &&
		    moment_type(moment) != MOMENT_WAIT_END && moment_type(moment) != MOMENT_LINK)
			return true;
	}
	return false;
}

bool script_frame_begins(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];

	assert(index < compiler->rec->wait_count && compiler->thread.frame_count <= FRAMES_MAX);
	if (!is_declared_wait(wait) || compiler->thread.is_waiting ||
	    compiler->thread.frame_count == FRAMES_MAX || !is_frame(compiler, wait))
		return false;
	compiler->thread.frames[compiler->thread.frame_count++] = index;
	return true;
}

bool script_frame_ends(struct compiler *compiler, uint32_t index)
{
	for (size_t i = compiler->thread.frame_count; i-- > 0;) {
		if (compiler->thread.frames[i] != index)
			continue;
		script_pass(compiler, compiler->rec->waits[index].end_ns);
		compiler->thread.frames[i] =
			compiler->thread.frames[--compiler->thread.frame_count];
		return true;
	}
	return false;
}
