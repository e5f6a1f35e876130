/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spin locks: try first, and only a try that fails is a wait, which burns a CPU. They are recorded
 * as mutexes are, because that is what they are to who waits for them. libc notes neither who has
 * one nor whether processes share it.
 *
 * Threads: any. Nothing is done between the acquisition of a lock that is not watched and the
 * return to the program, but for the note in lock_remember().
 */
#include "locks.h"

static inline int gained(pthread_spinlock_t *lock, struct caller caller)
{
	lock_gained((const void *)lock, WATCH_MUTEX, caller);
	return 0;
}

int hook_pthread_spin_lock(pthread_spinlock_t *lock)
{
	if (LIKELY(real.pthread_spin_trylock(lock) == 0))
		return gained(lock, CALLER);
	struct lock_wait wait;
	lock_wait_begin(&wait, (const void *)lock, WATCH_MUTEX, (struct lock_look){ 0, false },
			REASON_MUTEX, CALL_pthread_spin_lock, CALLER);
	int result = real.pthread_spin_lock(lock);
	lock_wait_end(&wait, result == 0 ? LOCK_HELD : LOCK_NOT_GAINED, false);
	return result;
}

int hook_pthread_spin_trylock(pthread_spinlock_t *lock)
{
	int result = real.pthread_spin_trylock(lock);
	if (result != 0)
		return result;
	gained(lock, CALLER);
	lock_hold_tried((const void *)lock, WATCH_MUTEX);
	return result;
}

int hook_pthread_spin_unlock(pthread_spinlock_t *lock)
{
	struct watch *watch = watch_find((const void *)lock);
	if (LIKELY(!watch) || watch->type != WATCH_MUTEX) {
		lock_recall((const void *)lock);
		return real.pthread_spin_unlock(lock);
	}
	struct hold_release release;
	bool is_stamped = lock_release(watch, &release, false);
	int result = real.pthread_spin_unlock(lock);
	if (is_stamped && result == 0)
		lock_release_record(watch, &release);
	return result;
}

int hook_pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
	lock_made((const void *)lock, CALLER);
	return real.pthread_spin_init(lock, shared);
}

int hook_pthread_spin_destroy(pthread_spinlock_t *lock)
{
	int result = real.pthread_spin_destroy(lock);
	if (result == 0)
		watch_forget((const void *)lock);
	return result;
}
