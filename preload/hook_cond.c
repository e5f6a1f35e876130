/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condition variables: a wait is a release of the mutex, a wait, and an acquisition of the mutex.
 *
 * From its first wait or signal a condition variable is watched, and so is its mutex. The replay
 * needs every critical section of a monitor, contended or not. A signal does not name the mutex.
 * The mutex that this thread has locked last is taken for it (held still, or just let go), by
 * address only. A wrong guess costs some holds that nobody needs.
 *
 * Each signal and broadcast is recorded before it is given, with how many it found waiting, so that
 * a woken thread's record cannot come first. The code that ends a wait also runs when the thread is
 * cancelled in it. The mutex is held again then, and the program's cleanup handlers will unlock it.
 * The versions of a function differ in the object only; its address is all that is used here.
 */
#include <errno.h>

#include "locks.h"

struct cond_wait {
	struct watch *cond;
	struct watch *mutex;
	const pthread_mutex_t *lock;
	const void *address;
	struct caller caller;
	uint64_t handle;
	uint64_t began_ticks;
	enum call call;
	uint32_t stack;
	bool is_signalled;
	bool is_inherited; /* the mutex, from one that died */
	bool is_timed_out;
	struct timespec until; /* if it was to time out */
};

/* The hold ends here: the sleep that follows costs more than its record. */
static void release_mutex(struct self *self, struct cond_wait *wait)
{
	struct hold_release release;
	if (!wait->mutex || !mutex_is_outermost(wait->lock))
		return;
	lock_stamp(self, wait->mutex, &release);
	hold_record(self, wait->mutex, &release);
}

static bool is_shared(const pthread_cond_t *cond)
{
	return __atomic_load_n(&cond->__data.__wrefs, __ATOMIC_RELAXED) & 1;
}

static void cond_wait_begin(struct cond_wait *wait, const void *cond, const pthread_mutex_t *mutex,
			    enum call call, struct caller caller)
{
	*wait = (struct cond_wait){
		.lock = mutex, .address = cond, .caller = caller, .call = call
	};
	if (ops_may_take_longer() && mutex_is_outermost(mutex))
		hold_takes_longer(watch_find(mutex));
	struct self *self = hook_enter();
	if (!self)
		return;
	wait->stack = caller_stack(self, caller);
	wait->cond = watch_get(self, cond, WATCH_COND);
	wait->mutex = watch_get(self, mutex, WATCH_MUTEX);
	if (wait->cond)
		watch_wait_begins(wait->cond);
	if (wait->cond && wait->mutex && mutex->__data.__kind & MUTEX_SHARED) {
		watch_share(wait->cond);
		watch_share(wait->mutex);
	}
	release_mutex(self, wait);
	wait->began_ticks = clock_ticks();
	wait->handle = wait_begin(self, REASON_COND, call, cond, wait->cond ? wait->cond->ident : 0,
				  wait->stack, caller.frame);
	self_leave(self);
}

/* The op that signalled last, if it did so during the wait. Read racily: with several wakes close
 * together the later one may be named, and the analyzer orders them by time. */
static uint64_t signaller(const struct cond_wait *wait)
{
	if (!wait->is_signalled || !wait->cond || wait->cond->sharing ||
	    (int64_t)(wait->cond->last_ticks - wait->began_ticks) < 0)
		return 0;
	return wait->cond->last_op;
}

/* For how long others had the mutex after the signal, as far as it shows: the mutex is held now. */
static uint64_t relock_ticks(const struct cond_wait *wait)
{
	if (!wait->cond || signaller(wait) == 0 ||
	    (int64_t)(wait->mutex->last_ticks - wait->cond->last_ticks) <= 0)
		return 0;
	return wait->mutex->last_ticks - wait->cond->last_ticks;
}

/* The wait has begun before recording did: as with a worker that had nothing to do. */
static void begin_inside(struct cond_wait *wait)
{
	uint64_t since_ticks = recorder_is_off() ? 0 : wait_inside_since();
	struct self *self = since_ticks ? hook_enter() : NULL;
	if (!self)
		return;
	wait->stack = caller_stack(self, wait->caller);
	wait->cond = watch_get(self, wait->address, WATCH_COND);
	wait->mutex = watch_get(self, wait->lock, WATCH_MUTEX);
	wait->began_ticks = since_ticks;
	wait->handle = wait_begin_inside(self, since_ticks, REASON_COND, wait->call, wait->address,
					 wait->cond ? wait->cond->ident : 0, wait->stack,
					 wait->caller.frame);
	self_leave(self);
}

/* At the wait's end, and when a cancellation unwinds through it; the mutex is held in both
 * cases. */
static void cond_wait_end(struct cond_wait *wait)
{
	if (wait->cond)
		watch_wait_ends(wait->cond);
	else if (!wait->handle && !wait->mutex)
		begin_inside(wait);
	if (!wait->handle && !wait->mutex)
		return;
	uint64_t target = signaller(wait);
	if (target != 0)
		wait_takes_longer(wait->handle, wait->cond->last_ticks);
	struct self *self = hook_enter();
	if (!self)
		return;
	if (wait->is_timed_out)
		wait_end_late(self, wait->handle, &wait->until);
	else
		wait_end(self, wait->handle, target, 0);
	if (wait->mutex && mutex_is_outermost(wait->lock)) {
		hold_begin(self, wait->mutex, wait->stack, wait->caller.frame);
		hold_relocked(wait->mutex, relock_ticks(wait));
		if (wait->is_inherited)
			hold_inherited(self, wait->mutex);
	}
	self_leave(self);
}

#define COND_WAIT __attribute__((cleanup(cond_wait_end))) struct cond_wait

static int finished(struct cond_wait *wait, int result)
{
	hooks_thread.last_mutex = wait->lock;
	wait->is_signalled = result == 0 || result == EOWNERDEAD;
	wait->is_inherited = result == EOWNERDEAD;
	wait->is_timed_out = result == ETIMEDOUT;
	return result;
}

static int finished_c11(struct cond_wait *wait, int result)
{
	hooks_thread.last_mutex = wait->lock;
	wait->is_signalled = result == thrd_success;
	wait->is_timed_out = result == thrd_timedout;
	return result;
}

int hook_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	COND_WAIT wait;
	cond_wait_begin(&wait, cond, mutex, CALL_pthread_cond_wait, CALLER);
	return finished(&wait, real.pthread_cond_wait(cond, mutex));
}

int hook_pthread_cond_wait_old(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	COND_WAIT wait;
	cond_wait_begin(&wait, cond, mutex, CALL_pthread_cond_wait_old, CALLER);
	return finished(&wait, real.pthread_cond_wait_old(cond, mutex));
}

int hook_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				const struct timespec *until)
{
	COND_WAIT wait;
	cond_wait_begin(&wait, cond, mutex, CALL_pthread_cond_timedwait, CALLER);
	wait.until = *until;
	return finished(&wait, real.pthread_cond_timedwait(cond, mutex, until));
}

int hook_pthread_cond_timedwait_old(pthread_cond_t *cond, pthread_mutex_t *mutex,
				    const struct timespec *until)
{
	COND_WAIT wait;
	cond_wait_begin(&wait, cond, mutex, CALL_pthread_cond_timedwait_old, CALLER);
	wait.until = *until;
	return finished(&wait, real.pthread_cond_timedwait_old(cond, mutex, until));
}

int hook_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				const struct timespec *until)
{
	COND_WAIT wait;
	cond_wait_begin(&wait, cond, mutex, CALL_pthread_cond_clockwait, CALLER);
	wait.until = *until;
	return finished(&wait, real.pthread_cond_clockwait(cond, mutex, clock, until));
}

int hook_cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	COND_WAIT wait;
	cond_wait_begin(&wait, cond, (const pthread_mutex_t *)mutex, CALL_cnd_wait, CALLER);
	return finished_c11(&wait, real.cnd_wait(cond, mutex));
}

int hook_cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *until)
{
	COND_WAIT wait;
	cond_wait_begin(&wait, cond, (const pthread_mutex_t *)mutex, CALL_cnd_timedwait, CALLER);
	wait.until = *until;
	return finished_c11(&wait, real.cnd_timedwait(cond, mutex, until));
}

static struct watch *watch_from_signal(struct self *self, const void *cond)
{
	const void *mutex = hooks_thread.last_mutex;
	if (mutex && !watch_find(mutex))
		watch_get(self, mutex, WATCH_MUTEX);
	return watch_get(self, cond, WATCH_COND);
}

/* Before the real signal (at most one) or broadcast (all that wait). */
static void wake(const void *cond, bool is_for_all, bool is_for_others, struct caller caller)
{
	struct self *self = hook_enter();
	if (!self)
		return;
	struct watch *watch = watch_find(cond);
	if (!watch || watch->type != WATCH_COND)
		watch = watch_from_signal(self, cond);
	if (watch) {
		if (is_for_others)
			watch_share(watch);
		uint32_t waiters = __atomic_load_n(&watch->waiters, __ATOMIC_RELAXED);
		uint32_t stack = watch_is_waited_on(watch) ? caller_stack(self, caller) : 0;
		wake_announce(self, LINK_WAKE, watch, is_for_all || waiters == 0 ? waiters : 1,
			      is_for_all ? RECORD_ALL : 0, stack);
	}
	self_leave(self);
}

int hook_pthread_cond_signal(pthread_cond_t *cond)
{
	wake(cond, false, is_shared(cond), CALLER);
	return real.pthread_cond_signal(cond);
}

int hook_pthread_cond_signal_old(pthread_cond_t *cond)
{
	wake(cond, false, false, CALLER);
	return real.pthread_cond_signal_old(cond);
}

int hook_pthread_cond_broadcast(pthread_cond_t *cond)
{
	wake(cond, true, is_shared(cond), CALLER);
	return real.pthread_cond_broadcast(cond);
}

int hook_pthread_cond_broadcast_old(pthread_cond_t *cond)
{
	wake(cond, true, false, CALLER);
	return real.pthread_cond_broadcast_old(cond);
}

int hook_cnd_signal(cnd_t *cond)
{
	wake(cond, false, false, CALLER);
	return real.cnd_signal(cond);
}

int hook_cnd_broadcast(cnd_t *cond)
{
	wake(cond, true, false, CALLER);
	return real.cnd_broadcast(cond);
}

int hook_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes)
{
	lock_made(cond, CALLER);
	return real.pthread_cond_init(cond, attributes);
}

int hook_pthread_cond_init_old(pthread_cond_t *cond, const pthread_condattr_t *attributes)
{
	lock_made(cond, CALLER);
	return real.pthread_cond_init_old(cond, attributes);
}

int hook_cnd_init(cnd_t *cond)
{
	lock_made(cond, CALLER);
	return real.cnd_init(cond);
}

/* Destroying may have to wait for late waiters to leave, so the watch must outlive it. */
int hook_pthread_cond_destroy(pthread_cond_t *cond)
{
	int result = real.pthread_cond_destroy(cond);
	if (result == 0)
		watch_forget(cond);
	return result;
}

int hook_pthread_cond_destroy_old(pthread_cond_t *cond)
{
	int result = real.pthread_cond_destroy_old(cond);
	if (result == 0)
		watch_forget(cond);
	return result;
}

void hook_cnd_destroy(cnd_t *cond)
{
	real.cnd_destroy(cond);
	watch_forget(cond);
}
