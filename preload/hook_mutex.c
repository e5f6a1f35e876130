/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes, of pthreads and of C11: try first, and only a try that says "busy" is a wait.
 *
 * The result of a try means: 0 and EOWNERDEAD, acquired (asking again would deadlock with
 * ourselves). EBUSY: held, perhaps by the caller, which the real call then judges. Anything else:
 * let the real call say it. A recursive mutex is held from its first acquisition to its last
 * release. A robust mutex is not tried but looked at. A try of one that is not recoverable leaves
 * it locked by the thread that tried (glibc 2.36).
 *
 * Threads: any, also unlocking what another thread has locked. Often called by the program's
 * allocator while it holds its own locks.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "locks.h"

static inline bool is_gained(int result)
{
	return result == 0 || result == EOWNERDEAD;
}

static inline int gained(const pthread_mutex_t *mutex, struct caller caller, int result)
{
	hooks_thread.last_mutex = mutex;
	if (UNLIKELY(result == EOWNERDEAD)) {
		lock_hold_inherited(mutex, WATCH_MUTEX, caller);
		return result;
	}
	struct watch *watch = watch_find(mutex);
	if (LIKELY(!watch) && locks_are_all_watched())
		watch = lock_watch_all(mutex, WATCH_MUTEX);
	if (LIKELY(!watch))
		lock_remember(mutex, caller.pc);
	else if (mutex_is_outermost(mutex))
		lock_hold_begin(watch, WATCH_MUTEX, caller);
	return result;
}

static inline int gained_by_try(const pthread_mutex_t *mutex, struct caller caller, int result)
{
	gained(mutex, caller, result);
	if (mutex_is_outermost(mutex))
		lock_hold_tried(mutex, WATCH_MUTEX);
	return result;
}

static inline bool is_robust(const pthread_mutex_t *mutex)
{
	return mutex->__data.__kind & MUTEX_ROBUST;
}

enum { OWNER_MASK = 0x3fffffff };

/* In those that the kernel must find the owner of, the lock word is the owner. */
static struct lock_look look_at(const pthread_mutex_t *mutex)
{
	int kind = mutex->__data.__kind;
	uint32_t owner =
		kind & (MUTEX_ROBUST | MUTEX_PRIORITY_INHERITING)
			? (uint32_t)__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) &
				  OWNER_MASK
			: (uint32_t)__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
	return (struct lock_look){ owner, kind & MUTEX_SHARED };
}

static void wait_begin_for(struct lock_wait *wait, const pthread_mutex_t *mutex, enum call call,
			   struct caller caller)
{
	lock_wait_begin(wait, mutex, WATCH_MUTEX, look_at(mutex), REASON_MUTEX, call, caller);
}

static void wait_end_for(struct lock_wait *wait, const pthread_mutex_t *mutex, enum lock_gain gain,
			 bool is_timed_out)
{
	if (gain != LOCK_NOT_GAINED)
		hooks_thread.last_mutex = mutex;
	lock_wait_end(wait, gain, is_timed_out);
}

static enum lock_gain gain_of(int result)
{
	return result == EOWNERDEAD ? LOCK_INHERITED : result == 0 ? LOCK_HELD : LOCK_NOT_GAINED;
}

/*
 * Stands in for trylock on a robust mutex, without touching it. EBUSY when another thread holds it,
 * else a value that leads to the real call. Stale at once: then a wait goes unrecorded.
 */
static int look_at_robust(const pthread_mutex_t *mutex)
{
	unsigned int owner =
		(unsigned int)__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) & OWNER_MASK;
	if (owner == 0 || owner == (unsigned int)real.syscall(SYS_gettid, 0, 0, 0, 0, 0, 0))
		return ENOTRECOVERABLE;
	return EBUSY;
}

static inline int try_mutex(pthread_mutex_t *mutex)
{
	return UNLIKELY(is_robust(mutex)) ? look_at_robust(mutex)
					  : real.pthread_mutex_trylock(mutex);
}

static inline int gained_if(const pthread_mutex_t *mutex, struct caller caller, int result)
{
	return is_gained(result) ? gained(mutex, caller, result) : result;
}

static void try_failed(const pthread_mutex_t *mutex, enum call call, struct caller caller)
{
	struct lock_wait wait;
	if (!lock_try_counts(mutex))
		return;
	wait_begin_for(&wait, mutex, call, caller);
	wait_end_for(&wait, mutex, LOCK_NOT_GAINED, true);
}

static int lock_contended(pthread_mutex_t *mutex, struct caller caller)
{
	struct lock_wait wait;
	wait_begin_for(&wait, mutex, CALL_pthread_mutex_lock, caller);
	int result = real.pthread_mutex_lock(mutex);
	wait_end_for(&wait, mutex, gain_of(result), false);
	return result;
}

int hook_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int result = try_mutex(mutex);
	if (LIKELY(is_gained(result)))
		return gained(mutex, CALLER, result);
	if (result == EBUSY)
		return lock_contended(mutex, CALLER);
	return gained_if(mutex, CALLER, real.pthread_mutex_lock(mutex));
}

int hook_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int result = real.pthread_mutex_trylock(mutex);
	if (result == EBUSY)
		try_failed(mutex, CALL_pthread_mutex_trylock, CALLER);
	else
		hooks_thread.tried = NULL;
	return is_gained(result) ? gained_by_try(mutex, CALLER, result) : result;
}

int hook_pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	int result = try_mutex(mutex);
	if (is_gained(result))
		return gained(mutex, CALLER, result);
	if (result != EBUSY)
		return gained_if(mutex, CALLER, real.pthread_mutex_timedlock(mutex, until));
	struct lock_wait wait;
	wait_begin_for(&wait, mutex, CALL_pthread_mutex_timedlock, CALLER);
	result = real.pthread_mutex_timedlock(mutex, until);
	wait_end_for(&wait, mutex, gain_of(result), result == ETIMEDOUT);
	return result;
}

/* The real call refuses an unknown clock before it looks at the mutex, so no try may come first. */
static bool clock_is_known(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

int hook_pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				 const struct timespec *until)
{
	int result = clock_is_known(clock) ? try_mutex(mutex) : EINVAL;
	if (is_gained(result))
		return gained(mutex, CALLER, result);
	if (result != EBUSY)
		return gained_if(mutex, CALLER, real.pthread_mutex_clocklock(mutex, clock, until));
	struct lock_wait wait;
	wait_begin_for(&wait, mutex, CALL_pthread_mutex_clocklock, CALLER);
	result = real.pthread_mutex_clocklock(mutex, clock, until);
	wait_end_for(&wait, mutex, gain_of(result), result == ETIMEDOUT);
	return result;
}

/* It locks the mutex, changes it and unlocks it: a wait, and no hold. One that is the caller's it
 * has or refuses at once. */
int hook_pthread_mutex_setprioceiling(pthread_mutex_t *mutex, int ceiling, int *before)
{
	uint32_t owner = look_at(mutex).holder_tid;
	if (owner == 0 || owner == (uint32_t)real.syscall(SYS_gettid, 0, 0, 0, 0, 0, 0))
		return real.pthread_mutex_setprioceiling(mutex, ceiling, before);
	struct lock_wait wait;
	wait_begin_for(&wait, mutex, CALL_pthread_mutex_setprioceiling, CALLER);
	int result = real.pthread_mutex_setprioceiling(mutex, ceiling, before);
	wait_end_for(&wait, mutex, result == 0 ? LOCK_SHARED : LOCK_NOT_GAINED, false);
	return result;
}

static int unlock_watched(struct watch *watch, pthread_mutex_t *mutex)
{
	struct hold_release release;
	bool is_stamped = lock_release(watch, &release, mutex_checks_owner(mutex));
	int result = real.pthread_mutex_unlock(mutex);
	if (is_stamped && result == 0)
		lock_release_record(watch, &release);
	return result;
}

/*
 * Those who wait in other processes made no watch here. That there are some shows in the lock word;
 * what was noted of the hold when it began still makes its record.
 */
static struct watch *watch_for_others(pthread_mutex_t *mutex)
{
	enum { LOCKED_AND_WAITED_FOR = 2 };
	int kind = mutex->__data.__kind;
	int word = __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED);
	bool is_waited_for = kind & (MUTEX_ROBUST | MUTEX_PRIORITY_INHERITING)
				     ? (uint32_t)word & FUTEX_WAITERS
				     : word == LOCKED_AND_WAITED_FOR;
	struct watch *watch = is_waited_for ? lock_watch_all(mutex, WATCH_MUTEX) : NULL;
	if (watch)
		watch_share(watch);
	return watch;
}

/* About to be unlocked. */
static inline struct watch *watch_of_held(const pthread_mutex_t *mutex)
{
	struct watch *watch = watch_find(mutex);
	if (LIKELY(watch || !lock_was_held_long(mutex)))
		return watch;
	watch = lock_watch_all(mutex, WATCH_MUTEX);
	if (watch && mutex->__data.__kind & MUTEX_SHARED)
		watch_share(watch);
	return watch;
}

int hook_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	struct watch *watch = watch_of_held(mutex);
	if (LIKELY(!watch) && UNLIKELY(mutex->__data.__kind & MUTEX_SHARED))
		watch = watch_for_others(mutex);
	if (UNLIKELY(watch && watch->type == WATCH_MUTEX && mutex_is_outermost(mutex)))
		return unlock_watched(watch, mutex);
	lock_recall(mutex);
	return real.pthread_mutex_unlock(mutex);
}

int hook_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
	lock_made(mutex, CALLER);
	return real.pthread_mutex_init(mutex, attributes);
}

int hook_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	int result = real.pthread_mutex_destroy(mutex);
	if (result == 0)
		watch_forget(mutex);
	return result;
}

/* --- C11: the same objects, other result codes --- */

static pthread_mutex_t *inside(mtx_t *mutex)
{
	_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "libc's mtx_t is its mutex");
	return (pthread_mutex_t *)mutex;
}

int hook_mtx_lock(mtx_t *mutex)
{
	int result = real.mtx_trylock(mutex);
	if (LIKELY(result == thrd_success))
		return gained(inside(mutex), CALLER, result);
	if (result != thrd_busy)
		return real.mtx_lock(mutex);
	struct lock_wait wait;
	wait_begin_for(&wait, inside(mutex), CALL_mtx_lock, CALLER);
	result = real.mtx_lock(mutex);
	wait_end_for(&wait, inside(mutex), result == thrd_success ? LOCK_HELD : LOCK_NOT_GAINED,
		     false);
	return result;
}

int hook_mtx_trylock(mtx_t *mutex)
{
	int result = real.mtx_trylock(mutex);
	if (result == thrd_busy)
		try_failed(inside(mutex), CALL_mtx_trylock, CALLER);
	else
		hooks_thread.tried = NULL;
	return result == thrd_success ? gained_by_try(inside(mutex), CALLER, result) : result;
}

int hook_mtx_timedlock(mtx_t *mutex, const struct timespec *until)
{
	int result = real.mtx_trylock(mutex);
	if (result == thrd_success)
		return gained(inside(mutex), CALLER, result);
	if (result != thrd_busy)
		return real.mtx_timedlock(mutex, until);
	struct lock_wait wait;
	wait_begin_for(&wait, inside(mutex), CALL_mtx_timedlock, CALLER);
	result = real.mtx_timedlock(mutex, until);
	wait_end_for(&wait, inside(mutex), result == thrd_success ? LOCK_HELD : LOCK_NOT_GAINED,
		     result == thrd_timedout);
	return result;
}

int hook_mtx_unlock(mtx_t *mutex)
{
	struct watch *watch = watch_of_held(inside(mutex));
	if (LIKELY(!watch) || watch->type != WATCH_MUTEX || !mutex_is_outermost(inside(mutex))) {
		lock_recall(mutex);
		return real.mtx_unlock(mutex);
	}
	struct hold_release release;
	bool is_stamped = lock_release(watch, &release, mutex_checks_owner(inside(mutex)));
	int result = real.mtx_unlock(mutex);
	if (is_stamped && result == thrd_success)
		lock_release_record(watch, &release);
	return result;
}

int hook_mtx_init(mtx_t *mutex, int type)
{
	lock_made(mutex, CALLER);
	return real.mtx_init(mutex, type);
}

void hook_mtx_destroy(mtx_t *mutex)
{
	real.mtx_destroy(mutex);
	watch_forget(mutex);
}
