/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for locks and holds of watched ones, for all lock families.
 *
 * Invariants: between a successful acquisition and the return to the program nothing is done for a
 * lock that is not watched. Between hold_release() and the real unlock nothing is done at all. The
 * call stack is taken while the thread would wait anyway, and serves the wait and the hold that
 * follows it. Threads: any. The thread that holds the lock reads the `watch` fields last_* and
 * holder_* here, so the lock itself orders them. A reader of an rwlock reads them racily, and may
 * name the wrong predecessor.
 */
#include "locks.h"

void lock_wait_begin(struct lock_wait *wait, const void *lock, enum watch_type type,
		     struct lock_look look, enum reason reason, uint32_t call, struct caller caller)
{
	*wait = (struct lock_wait){ .is_shared = look.is_shared, .frame = caller.frame };
	struct self *self = hook_enter();
	if (!self)
		return;
	wait->stack = caller_stack(self, caller);
	wait->watch = watch_get(self, lock, type);
	if (wait->watch) {
		wait->holder_op = hold_known(self, wait->watch);
		watch_wait_begins(wait->watch);
		if (look.is_shared)
			watch_share(wait->watch);
	}
	wait->began_ticks = clock_ticks();
	wait->handle = wait_begin(self, reason, call, lock, wait->watch ? wait->watch->ident : 0,
				  wait->stack, caller.frame);
	wait_held_by(self, wait->handle, look.holder_tid);
	self_leave(self);
}

/*
 * The op whose release let us in: the last one, if it came during the wait; else the holder when
 * the wait began. If there was none, the lock was about to be released, and that release is the
 * last one, too.
 */
static uint64_t predecessor(const struct lock_wait *wait)
{
	const struct watch *watch = wait->watch;
	if (!watch)
		return 0;
	if ((int64_t)(watch->last_ticks - wait->began_ticks) >= 0 || wait->holder_op == 0)
		return watch->last_op;
	return wait->holder_op;
}

/* One who died holding it released nothing: it is the one who held it then, if nobody came
 * between. */
static uint64_t deceased(const struct lock_wait *wait)
{
	if (!wait->watch || (int64_t)(wait->watch->last_ticks - wait->began_ticks) >= 0)
		return 0;
	return wait->holder_op;
}

/* Other processes' holds of a lock are not known here: the analyzer has the holds of all. */
static uint64_t target_of(const struct lock_wait *wait, enum lock_gain gain)
{
	if (gain == LOCK_NOT_GAINED || wait->is_shared)
		return 0;
	return gain == LOCK_INHERITED ? deceased(wait) : predecessor(wait);
}

void lock_wait_end(struct lock_wait *wait, enum lock_gain gain, bool is_timed_out)
{
	if (wait->watch)
		watch_wait_ends(wait->watch);
	if (!wait->handle && !wait->watch)
		return;
	if (gain != LOCK_NOT_GAINED && wait->watch)
		wait_takes_longer(wait->handle, wait->watch->last_ticks);
	struct self *self = hook_enter();
	if (!self)
		return;
	wait_end(self, wait->handle, target_of(wait, gain),
		 gain == LOCK_INHERITED ? RECORD_OWNER_DIED
		 : is_timed_out         ? RECORD_TIMED_OUT
					: 0);
	if ((gain == LOCK_HELD || gain == LOCK_INHERITED) && wait->watch)
		hold_begin(self, wait->watch, wait->stack, wait->frame);
	if (gain == LOCK_INHERITED && wait->watch)
		hold_inherited(self, wait->watch);
	self_leave(self);
}

enum { TRIES_OF_SPELL = 8 };

bool lock_try_counts(const void *lock)
{
	struct hooks_thread *thread = &hooks_thread;
	if (thread->tried != lock)
		thread->tries = 0;
	thread->tried = lock;
	uint32_t tries = ++thread->tries;
	return tries <= TRIES_OF_SPELL || (tries & (tries - 1)) == 0;
}

void lock_made(const void *lock, struct caller caller)
{
	watch_forget(lock);
	struct self *self = hook_enter();
	if (!self)
		return;
	init_record(self, lock, caller_stack(self, caller));
	self_leave(self);
}

void lock_hold_begin(struct watch *watch, enum watch_type type, struct caller caller)
{
	if (watch->type != type)
		return;
	struct self *self = hook_enter();
	if (!self)
		return;
	hold_begin(self, watch, caller_stack(self, caller), caller.frame);
	self_leave(self);
}

void lock_hold_inherited(const void *lock, enum watch_type type, struct caller caller)
{
	struct self *self = hook_enter();
	if (!self)
		return;
	struct watch *watch = watch_get(self, lock, type);
	if (watch && watch->type == type) {
		hold_begin(self, watch, caller_stack(self, caller), caller.frame);
		hold_inherited(self, watch);
	}
	self_leave(self);
}

struct watch *lock_watch_all(const void *lock, enum watch_type type)
{
	struct self *self = hook_enter();
	struct watch *watch = self ? watch_get(self, lock, type) : NULL;
	self_leave(self);
	return watch;
}

const struct lock_held *lock_recall_slow(const void *lock)
{
	for (uint32_t i = 0; i < LOCKS_HELD_MAX; i++) {
		struct lock_held *held =
			&hooks_thread.held[(hooks_thread.held_count - 1 - i) % LOCKS_HELD_MAX];
		if (held->lock != lock)
			continue;
		held->lock = NULL;
		return held;
	}
	return NULL;
}

void lock_stamp(struct self *self, struct watch *watch, struct hold_release *release)
{
	const struct lock_held *held =
		watch->holder_op ? NULL : lock_recall((const void *)watch->address);
	if (held)
		hold_begin_late(self, watch, held->last_ticks, held->nth);
	hold_release(self, watch, release);
	if (held)
		release->pc = held->pc;
}

bool lock_release(struct watch *watch, struct hold_release *release, bool is_owner_checked)
{
	if (ops_may_take_longer())
		hold_takes_longer(watch);
	struct self *self = hook_enter();
	if (!self)
		return false;
	bool is_ours = !is_owner_checked || !hold_is_anothers(self, watch);
	if (is_ours)
		lock_stamp(self, watch, release);
	self_leave(self);
	return is_ours;
}

void lock_release_record(struct watch *watch, const struct hold_release *release)
{
	struct self *self = hook_enter();
	if (!self)
		return;
	hold_record(self, watch, release);
	self_leave(self);
}
