/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads by the numbers that libc gives them, so that a join finds the op of the thread it waits
 * for. See watch.h. Runs on the program's threads, in hooks.
 */
#include "self.h"
#include "watch.h"

#include "in_target.h"

/* Of some threads the creators tell. The first thread's would be the first entry of many a process,
 * and cost it the table's memory; hardly any program joins that thread. */
void watch_publish_thread(struct self *self, const void *thread)
{
	struct watch *watch;

	if (self->is_told || load_relaxed(&self->slot->tid) == recorder_arena->pid)
		return;
	watch = watch_get(self, thread, WATCH_THREAD);
	/* Pairs with watch_child_op() and the drainer's look at joins. */
	if (watch)
		store_release(&watch->holder_op, load_relaxed(&self->slot->op));
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
		store_release(&watch->holder_op, op);
}

/* A new thread with its number may have been announced already, which stays. */
void watch_forget_thread(const void *thread, uint64_t op)
{
	struct watch *watch = watch_find(thread);
	if (watch && load_relaxed(&watch->type) == WATCH_THREAD)
		(void)cas_acq_rel(&watch->holder_op, &op, 0);
}
