/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the lock families: a wait for a lock, and the hold of a watched one.
 *
 * A lock that nobody ever waited for is not watched, and costs its hooks one look-up. The first
 * wait for a lock, or while holding it, makes it watched for good. From then on each of its holds
 * is recorded, from acquisition to release.
 */
#ifndef WCPROF_LOCKS_H
#define WCPROF_LOCKS_H

#include "hooks.h"
#include "watch.h"

/* A hook's view of the lock that it is about to wait for: libc's own fields, read racily. */
struct lock_look {
	uint32_t holder_tid; /* exclusive holder, as libc notes it; 0 = not known */
	bool is_shared;      /* between processes */
};

/* One wait in progress; lives on the waiting thread's stack. */
struct lock_wait {
	struct watch *watch;
	uint64_t handle;
	uint64_t holder_op; /* holder when the wait began */
	uint64_t began_ticks;
	uint32_t stack;
	bool is_shared; /* between processes */
	const void *frame;
};

/* After a try has failed and before sleeping. `call` is the string id of its name. Always pair it
 * with lock_wait_end(). */
void lock_wait_begin(struct lock_wait *, const void *lock, enum watch_type, struct lock_look,
		     enum reason, uint32_t call, struct caller) HIDDEN;

/* How the wait ended: given up, acquired by one of several holders, acquired alone, or alone from
 * an owner that died. */
enum lock_gain { LOCK_NOT_GAINED, LOCK_SHARED, LOCK_HELD, LOCK_INHERITED };
void lock_wait_end(struct lock_wait *, enum lock_gain, bool is_timed_out) HIDDEN;

/*
 * The caller tried to lock, and somebody else has it: a wait of no length that ended in vain. A
 * thread that tries again and again is waiting all the same. Only the first tries of such a spell
 * are recorded, and then every second, fourth and so on. Returns whether this one is.
 */
bool lock_try_counts(const void *lock) HIDDEN;

/* There is a new lock or the like at this address: what was known of the one before is gone. */
void lock_made(const void *lock, struct caller) HIDDEN;

/* The lock is held by the caller from now on; for watched locks only. */
void lock_hold_begin(struct watch *, enum watch_type, struct caller) HIDDEN;

/* The same, at once, from one who died holding it: that is worth a watch. */
void lock_hold_inherited(const void *lock, enum watch_type, struct caller) HIDDEN;

/* The hold that has just begun is that of a try. */
static inline void lock_hold_tried(const void *lock, enum watch_type type)
{
	struct watch *watch = watch_find(lock);
	if (watch && watch->type == type)
		hold_tried(watch);
}

/* This lock is to be watched from now on, though nobody waited for it. */
struct watch *lock_watch_all(const void *lock, enum watch_type) HIDDEN;

static inline bool locks_are_all_watched(void)
{
	return UNLIKELY(__atomic_load_n(&recorder_holds, __ATOMIC_RELAXED) == HOLDS_ALL);
}

/*
 * Notes that a lock was taken that is not watched: a few stores, no look at the clock. The note is
 * there because the lock may become watched while it is held. Then the hold that somebody waited
 * for first would be lost, and nobody could say what a shorter one would have changed.
 */
static inline void lock_remember(const void *lock, const void *pc)
{
	struct hooks_thread *thread = &hooks_thread;
	struct lock_held *held = &thread->held[thread->held_count++ % LOCKS_HELD_MAX];

	if (thread->held_ticks != recorder_last_ticks) {
		thread->held_ticks = recorder_last_ticks;
		thread->held_nth = 0;
	}
	held->lock = lock;
	held->pc = pc;
	held->last_ticks = thread->held_ticks;
	held->nth = ++thread->held_nth;
}

/*
 * Whether something of this thread was recorded since it took the lock: a sleep, input or output,
 * another wait. Such a lock is watched from then on though nobody waited for it: others may do so
 * as soon as they come sooner.
 */
static inline bool lock_was_held_long(const void *lock)
{
	const struct hooks_thread *thread = &hooks_thread;
	const struct lock_held *held = &thread->held[(thread->held_count - 1) % LOCKS_HELD_MAX];

	return UNLIKELY(held->lock == lock && held->last_ticks != recorder_last_ticks) &&
	       __atomic_load_n(&recorder_holds, __ATOMIC_RELAXED) != HOLDS_NONE;
}

/* It is about to be released: what was noted, NULL if nothing; good until the next lock. */
const struct lock_held *lock_recall_slow(const void *lock) HIDDEN;

static inline const struct lock_held *lock_recall(const void *lock)
{
	struct hooks_thread *thread = &hooks_thread;
	struct lock_held *held = &thread->held[(thread->held_count - 1) % LOCKS_HELD_MAX];

	if (UNLIKELY(held->lock != lock))
		return lock_recall_slow(lock);
	held->lock = NULL;
	thread->held_count--;
	return held;
}

/* It was acquired without a wait, and whoever has it has it once. */
static inline void lock_gained(const void *lock, enum watch_type type, struct caller caller)
{
	struct watch *watch = watch_find(lock);
	if (LIKELY(!watch) && locks_are_all_watched())
		watch = lock_watch_all(lock, type);
	if (LIKELY(!watch))
		lock_remember(lock, caller.pc);
	else
		lock_hold_begin(watch, type, caller);
}

/*
 * Around the real unlock. `is_owner_checked`: libc refuses an unlock by another thread, so such a
 * call must not end the owner's hold. Returns whether lock_release_record() is to be called
 * afterwards.
 */
bool lock_release(struct watch *, struct hold_release *, bool is_owner_checked) HIDDEN;
/* The first half of it, for a thread that is inside: with what was noted of a hold that has no
 * record. */
void lock_stamp(struct self *, struct watch *, struct hold_release *) HIDDEN;
void lock_release_record(struct watch *, const struct hold_release *) HIDDEN;

/* The kind bits of a mutex. */
enum { MUTEX_ROBUST = 0x10, MUTEX_PRIORITY_INHERITING = 0x20, MUTEX_SHARED = 0x80 };

/* libc's own view of a mutex, read while it is held by the caller or racily, never written. */
static inline bool mutex_is_recursive(const pthread_mutex_t *mutex)
{
	return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP;
}

/* Held by the caller exactly once. */
static inline bool mutex_is_outermost(const pthread_mutex_t *mutex)
{
	return !mutex_is_recursive(mutex) || mutex->__data.__count == 1;
}

/* Recursive, error-checking, robust and priority-inheriting ones know their owner. */
static inline bool mutex_checks_owner(const pthread_mutex_t *mutex)
{
	int type = mutex->__data.__kind & 3;
	return type == PTHREAD_MUTEX_RECURSIVE_NP || type == PTHREAD_MUTEX_ERRORCHECK_NP ||
	       (mutex->__data.__kind & (MUTEX_ROBUST | MUTEX_PRIORITY_INHERITING)) != 0;
}

#endif
