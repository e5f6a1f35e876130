/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of pipes: who reads from one until nobody is left who could write to it.
 *
 * Method. Such a read gets no bytes, and returns when the last process that has the pipe ends or
 * closes it. Or it gets what libc wrote at the end of the program, which no call shows: then the
 * process must have ended just before. A process has a pipe if it did something with it, if only
 * closing it, or could write to it as it ended. Of those that ended late in the read, the last one
 * is taken to have been waited for. A read during which none did stays as long as it was: somebody
 * closed the pipe, and went on.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int compare_users(const void *left, const void *right)
{
	const struct pipe_user *a = left, *b = right;

	if (a->ident != b->ident)
		return a->ident < b->ident ? -1 : 1;
	return (a->process > b->process) - (a->process < b->process);
}

static bool is_of_pipe(const struct recording *rec, const struct rec_op *op)
{
	return op->kind == KIND_IO && op->thread != NO_INDEX && op->ident &&
	       flow_is_pipe(rec->strings[op->ident]);
}

static void user_add(struct found *found, size_t *capacity, uint32_t ident, uint32_t thread,
		     const struct recording *rec)
{
	struct pipe_user user = { ident, rec->threads[thread].process };
	size_t count = found->pipe_user_count;

	if (count && compare_users(&found->pipe_users[count - 1], &user) == 0)
		return;
	found->pipe_users =
		memory_grow(found->pipe_users, capacity, count + 1, sizeof(*found->pipe_users));
	found->pipe_users[found->pipe_user_count++] = user;
}

void script_ends_find(struct found *found, const struct recording *rec)
{
	size_t capacity = 0;

	assert(!found->pipe_users);
	for (size_t i = 0; i < rec->op_count; i++)
		if (is_of_pipe(rec, &rec->ops[i]))
			user_add(found, &capacity, rec->ops[i].ident, rec->ops[i].thread, rec);
	for (size_t i = 0; i < rec->link_count; i++)
		if (rec->links[i].kind == LINK_LEAVE && rec->links[i].thread != NO_INDEX)
			user_add(found, &capacity, rec->links[i].ident, rec->links[i].thread, rec);
	if (found->pipe_user_count)
		qsort(found->pipe_users, found->pipe_user_count, sizeof(*found->pipe_users),
		      compare_users);
}

/* The first entry of a pipe's, or of those behind it. */
static size_t first_user(const struct compiler *compiler, uint32_t ident)
{
	size_t low = 0, high = compiler->found->pipe_user_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compiler->found->pipe_users[middle].ident < ident)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* No bytes, or of a flow that nobody was seen to write. */
static bool may_await_end(const struct compiler *compiler, uint32_t op)
{
	const struct rec_op *io = &compiler->rec->ops[op];

	return is_of_pipe(compiler->rec, io) && io->outcome != OUTCOME_ERROR &&
	       compiler->script->flows.transfer_of[op] == NO_INDEX &&
	       !compiler->rec->extras[op].open &&
	       flow_direction_of(compiler->rec->strings[io->name]) == FLOW_READ;
}

/* Processes that ended before this time were not waited for by a read that began at `from_ns`. The
 * kernel may take a while to give back what a process had before it closes its pipes. */
static uint64_t earliest_end_ns(const struct recording *rec, uint32_t op, uint64_t from_ns)
{
	uint64_t end_ns = rec->ops[op].end_ns, most_ns = assume.last_words;

	if (!rec->extras[op].amount && (end_ns - from_ns) / 2 > most_ns)
		most_ns = (end_ns - from_ns) / 2;
	return end_ns > from_ns + most_ns ? end_ns - most_ns : from_ns;
}

uint32_t script_ending_actor(const struct compiler *compiler, uint32_t op, uint64_t from_ns)
{
	const struct recording *rec = compiler->rec;
	uint32_t ident = rec->ops[op].ident, found = NO_INDEX;

	assert(op < rec->op_count);
	if (!may_await_end(compiler, op))
		return NO_INDEX;
	from_ns = earliest_end_ns(rec, op, from_ns);
	for (size_t i = first_user(compiler, ident);
	     i < compiler->found->pipe_user_count && compiler->found->pipe_users[i].ident == ident;
	     i++) {
		uint32_t process = compiler->found->pipe_users[i].process;
		uint32_t thread = process == compiler->thread.process
					  ? NO_INDEX
					  : script_ending_thread(rec, process);

		if (thread == NO_INDEX || script_next_image(rec, process) != NO_INDEX)
			continue;
		uint64_t end_ns = rec->ops[rec->threads[thread].op].end_ns;
		if (end_ns > from_ns && end_ns <= rec->ops[op].end_ns &&
		    (found == NO_INDEX || end_ns > rec->ops[rec->threads[found].op].end_ns))
			found = thread;
	}
	return found;
}
