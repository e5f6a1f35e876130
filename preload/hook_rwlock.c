/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read-write locks. A writer's hold is kept in the watch, like a mutex's. Readers are several at a
 * time, so each thread keeps its holds itself, in a few places, and the op's ident says "read".
 *
 * Try first: EBUSY and EAGAIN (too many readers) lead to the real call, inside a wait. Timed forms
 * with a deadline or clock that libc refuses are not tried at all: it refuses them even when the
 * lock is free. A read lock may be given back by another thread than took it; libc allows that,
 * POSIX does not. Such a hold is closed when its thread ends. A thread with more than
 * READ_HOLDS_MAX watched read locks at once records the first of them.
 *
 * As with mutexes, a writer's hold that a thread waits for before the lock is watched is made up
 * for. A hold in which something else was recorded makes the lock watched. A reader's is not:
 * readers do not wait for each other, and most locks that are read for long are never written.
 */
#include <errno.h>

#include "locks.h"

static bool deadline_is_valid(clockid_t clock, const struct timespec *until)
{
	return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && until->tv_nsec >= 0 &&
	       until->tv_nsec < 1000000000;
}

static bool is_busy(int result)
{
	return result == EBUSY || result == EAGAIN;
}

/* Takes this thread's hold of the lock out of its place; 0 = none recorded. */
static uint64_t read_hold_take(const void *lock)
{
	for (int i = 0; i < READ_HOLDS_MAX; i++)
		if (hooks_thread.read_holds[i].lock == lock) {
			hooks_thread.read_holds[i].lock = NULL;
			return hooks_thread.read_holds[i].op;
		}
	return 0;
}

static void read_hold_begin(struct watch *watch, const void *lock, struct caller caller)
{
	int place = 0;
	while (place < READ_HOLDS_MAX && hooks_thread.read_holds[place].lock)
		place++;
	bool is_recorded = place < READ_HOLDS_MAX && recorder_holds != HOLDS_NONE;
	struct self *self = is_recorded ? hook_enter() : NULL;
	if (!self)
		return;
	uint64_t op = op_begin(self, KIND_HOLD, watch->ident, (uint64_t)lock, -1,
			       caller_stack(self, caller), caller.frame);
	if (op) {
		op_set_ident(self, op, string_intern("read", 4));
		/* That of the last writer's hold, which no writer can follow meanwhile. */
		op_set_count(self, op, watch->hold_count);
		hooks_thread.read_holds[place].lock = lock;
		hooks_thread.read_holds[place].op = op;
	}
	self_leave(self);
}

static inline struct watch *find_watch(const void *lock)
{
	struct watch *watch = watch_find(lock);
	bool is_shared = ((const pthread_rwlock_t *)lock)->__data.__shared;
	if (LIKELY(watch) || (LIKELY(!is_shared) && !locks_are_all_watched()))
		return watch;
	/* Those who wait in other processes cannot make it watched here. */
	watch = lock_watch_all(lock, WATCH_RWLOCK);
	if (watch && is_shared)
		watch_share(watch);
	return watch;
}

static int read_gained(pthread_rwlock_t *lock, struct caller caller)
{
	struct watch *watch = find_watch(lock);
	if (UNLIKELY(watch && watch->type == WATCH_RWLOCK))
		read_hold_begin(watch, lock, caller);
	return 0;
}

static int write_gained(pthread_rwlock_t *lock, struct caller caller)
{
	struct watch *watch = find_watch(lock);
	if (LIKELY(!watch))
		lock_remember(lock, caller.pc);
	else
		lock_hold_begin(watch, WATCH_RWLOCK, caller);
	return 0;
}

/* Readers are not named anywhere. */
static struct lock_look look_at(const pthread_rwlock_t *lock)
{
	int writer = __atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED);
	return (struct lock_look){ (uint32_t)writer, lock->__data.__shared };
}

static void read_wait_begin(struct lock_wait *wait, const pthread_rwlock_t *lock, enum call call,
			    struct caller caller)
{
	lock_wait_begin(wait, lock, WATCH_RWLOCK, look_at(lock), REASON_RWLOCK_READ, call, caller);
}

static int read_wait_end(struct lock_wait *wait, const pthread_rwlock_t *lock, int result,
			 struct caller caller)
{
	lock_wait_end(wait, result == 0 ? LOCK_SHARED : LOCK_NOT_GAINED, result == ETIMEDOUT);
	if (result == 0 && wait->watch)
		read_hold_begin(wait->watch, lock, caller);
	return result;
}

static void write_wait_begin(struct lock_wait *wait, const pthread_rwlock_t *lock, enum call call,
			     struct caller caller)
{
	lock_wait_begin(wait, lock, WATCH_RWLOCK, look_at(lock), REASON_RWLOCK_WRITE, call, caller);
}

static int write_wait_end(struct lock_wait *wait, int result)
{
	lock_wait_end(wait, result == 0 ? LOCK_HELD : LOCK_NOT_GAINED, result == ETIMEDOUT);
	return result;
}

int hook_pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	int result = real.pthread_rwlock_tryrdlock(lock);
	if (LIKELY(result == 0))
		return read_gained(lock, CALLER);
	if (!is_busy(result))
		return real.pthread_rwlock_rdlock(lock);
	struct lock_wait wait;
	read_wait_begin(&wait, lock, CALL_pthread_rwlock_rdlock, CALLER);
	return read_wait_end(&wait, lock, real.pthread_rwlock_rdlock(lock), CALLER);
}

int hook_pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
	int result = real.pthread_rwlock_tryrdlock(lock);
	return result == 0 ? read_gained(lock, CALLER) : result;
}

int hook_pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	int result = deadline_is_valid(CLOCK_REALTIME, until) ? real.pthread_rwlock_tryrdlock(lock)
							      : EINVAL;
	if (result == 0)
		return read_gained(lock, CALLER);
	if (!is_busy(result))
		return real.pthread_rwlock_timedrdlock(lock, until);
	struct lock_wait wait;
	read_wait_begin(&wait, lock, CALL_pthread_rwlock_timedrdlock, CALLER);
	return read_wait_end(&wait, lock, real.pthread_rwlock_timedrdlock(lock, until), CALLER);
}

int hook_pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
				    const struct timespec *until)
{
	int result = deadline_is_valid(clock, until) ? real.pthread_rwlock_tryrdlock(lock) : EINVAL;
	if (result == 0)
		return read_gained(lock, CALLER);
	if (!is_busy(result))
		return real.pthread_rwlock_clockrdlock(lock, clock, until);
	struct lock_wait wait;
	read_wait_begin(&wait, lock, CALL_pthread_rwlock_clockrdlock, CALLER);
	return read_wait_end(&wait, lock, real.pthread_rwlock_clockrdlock(lock, clock, until),
			     CALLER);
}

int hook_pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	int result = real.pthread_rwlock_trywrlock(lock);
	if (LIKELY(result == 0))
		return write_gained(lock, CALLER);
	if (!is_busy(result))
		return real.pthread_rwlock_wrlock(lock);
	struct lock_wait wait;
	write_wait_begin(&wait, lock, CALL_pthread_rwlock_wrlock, CALLER);
	return write_wait_end(&wait, real.pthread_rwlock_wrlock(lock));
}

int hook_pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	int result = real.pthread_rwlock_trywrlock(lock);
	if (result != 0)
		return result;
	write_gained(lock, CALLER);
	lock_hold_tried(lock, WATCH_RWLOCK);
	return result;
}

int hook_pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	int result = deadline_is_valid(CLOCK_REALTIME, until) ? real.pthread_rwlock_trywrlock(lock)
							      : EINVAL;
	if (result == 0)
		return write_gained(lock, CALLER);
	if (!is_busy(result))
		return real.pthread_rwlock_timedwrlock(lock, until);
	struct lock_wait wait;
	write_wait_begin(&wait, lock, CALL_pthread_rwlock_timedwrlock, CALLER);
	return write_wait_end(&wait, real.pthread_rwlock_timedwrlock(lock, until));
}

int hook_pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
				    const struct timespec *until)
{
	int result = deadline_is_valid(clock, until) ? real.pthread_rwlock_trywrlock(lock) : EINVAL;
	if (result == 0)
		return write_gained(lock, CALLER);
	if (!is_busy(result))
		return real.pthread_rwlock_clockwrlock(lock, clock, until);
	struct lock_wait wait;
	write_wait_begin(&wait, lock, CALL_pthread_rwlock_clockwrlock, CALLER);
	return write_wait_end(&wait, real.pthread_rwlock_clockwrlock(lock, clock, until));
}

/* A reader leaves: its hold ends, and the last one lets a writer in. */
static void read_release(struct watch *watch, pthread_rwlock_t *lock)
{
	uint64_t hold = read_hold_take(lock);
	op_takes_longer(hold, false);
	struct self *self = hook_enter();
	if (!self)
		return;
	uint32_t waiters = __atomic_load_n(&watch->waiters, __ATOMIC_RELAXED);
	if (waiters > 0) {
		watch->last_op = hold ? hold : op_current(self);
		watch->last_ticks = clock_ticks();
		wake_record(self, LINK_WAKE, watch, 1, 0, 0);
	}
	if (hold)
		op_end(self, hold, OUTCOME_OK, (uint64_t)lock);
	self_leave(self);
}

static int write_release(struct watch *watch, pthread_rwlock_t *lock)
{
	struct hold_release release;
	bool is_stamped = lock_release(watch, &release, false);
	int result = real.pthread_rwlock_unlock(lock);
	if (is_stamped && result == 0)
		lock_release_record(watch, &release);
	return result;
}

/* About to be unlocked. */
static inline struct watch *watch_of_held(const pthread_rwlock_t *lock, bool is_written)
{
	struct watch *watch = watch_find(lock);
	if (LIKELY(watch || !is_written || !lock_was_held_long(lock)))
		return watch;
	return lock_watch_all(lock, WATCH_RWLOCK);
}

int hook_pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	/* Readers and a writer exclude each other. */
	bool is_written = lock->__data.__cur_writer != 0;
	struct watch *watch = watch_of_held(lock, is_written);
	if (LIKELY(!watch) || watch->type != WATCH_RWLOCK) {
		if (is_written)
			lock_recall(lock);
		return real.pthread_rwlock_unlock(lock);
	}
	if (is_written)
		return write_release(watch, lock);
	read_release(watch, lock);
	return real.pthread_rwlock_unlock(lock);
}

int hook_pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes)
{
	lock_made(lock, CALLER);
	return real.pthread_rwlock_init(lock, attributes);
}

int hook_pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
	int result = real.pthread_rwlock_destroy(lock);
	if (result == 0)
		watch_forget(lock);
	return result;
}
