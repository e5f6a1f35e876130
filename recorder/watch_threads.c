/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads by the numbers that libc gives them, so that a join finds the op of the thread it waits
 * for. See watch.h. Runs on the program's threads, in hooks.
 */
#include "opening.h"
#include "roster.h"
#include "self.h"
#include "watch.h"

#include "in_target.h"

static void set_op(struct watch *watch, uint64_t op)
{
	store_relaxed(&watch->holder_opening, opening_now(recorder_arena));
	/* Pairs with watch_child_op() and the drainer's look at joins. */
	store_release(&watch->holder_op, op);
}

/* Of some threads the creators tell. The first thread's would be the first entry of many a process,
 * and cost it the table's memory; hardly any program joins that thread. */
void watch_publish_thread(struct self *self, const void *thread)
{
	struct watch *watch;

	if (self->is_told || load_relaxed(&self->slot->tid) == recorder_arena->pid)
		return;
	watch = watch_get(self, thread, WATCH_THREAD);
	if (watch)
		set_op(watch, load_relaxed(&self->slot->op));
}

void watch_thread_is_told(void)
{
	self_of_thread.is_told = true;
}

/* Whoever joined the last thread of this number may not have forgotten that yet. */
void watch_tell_of_thread(struct self *self, const void *thread, uint64_t op)
{
	struct watch *watch = watch_get(self, thread, WATCH_THREAD);
	if (watch)
		set_op(watch, op);
}

/* A new thread with its number may have been announced already, which stays. */
void watch_forget_thread(const void *thread, uint64_t op)
{
	struct watch *watch = watch_find(thread);
	if (watch && load_relaxed(&watch->type) == WATCH_THREAD)
		(void)cas_acq_rel(&watch->holder_op, &op, 0);
}

void watch_thread_ends(const void *thread)
{
	const struct slot *slot = self_of_thread.slot;
	struct watch *watch = slot ? watch_find(thread) : NULL;

	if (watch && load_relaxed(&watch->type) == WATCH_THREAD &&
	    load_acquire(&watch->holder_op) == load_relaxed(&slot->op))
		store_relaxed(&watch->holder_opening, opening_now(recorder_arena));
}

uint64_t watch_thread_op(const void *thread)
{
	uint32_t opening = opening_now(recorder_arena);
	struct watch *watch = watch_find(thread);
	uint64_t op = 0;

	if (watch && load_relaxed(&watch->type) == WATCH_THREAD)
		op = load_acquire(&watch->holder_op);
	if (op == 0 || load_relaxed(&watch->holder_opening) == opening)
		return op;
	if (!roster_has(recorder_arena, op))
		return 0;
	/* All threads are looked through once in an opening. */
	store_relaxed(&watch->holder_opening, opening);
	return op;
}
