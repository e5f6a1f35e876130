/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semaphores: every post and every wait is recorded, also where nobody had to wait, because the
 * replay counts permits, in their order. Where nobody had to wait a record is a look at the clock
 * and no stack.
 *
 * sem_wait() takes a permit that is there by a try, after it has acted on a pending cancellation,
 * as libc's does. The timed forms judge their deadline before they look at the permits, so no try
 * comes before them. A semaphore is watched from its first call. The value that it held then is its
 * initial value, as far as that can be known of one that other threads are using already. Threads:
 * any; sem_post() also from signal handlers.
 */
#include <errno.h>

#include "hooks.h"
#include "watch.h"

struct sem_wait_state {
	struct watch *watch;
	uint64_t handle;
	int result;
	bool is_timed;
	struct timespec until; /* if it is */
};

/* Where libc notes it; named ones are shared too. */
struct sem_inside {
	uint64_t value_and_waiters;
	int private;
};

_Static_assert(sizeof(struct sem_inside) <= sizeof(sem_t), "libc's is larger");

static bool is_shared(const sem_t *sem)
{
	int private;
	__builtin_memcpy(&private, (const char *)sem + offsetof(struct sem_inside, private),
			 sizeof(private));
	return private != 0;
}

/* `taken`: permits of which the recorder has not heard yet. */
static struct watch *watch_of(struct self *self, sem_t *sem, uint32_t taken)
{
	struct watch *watch = watch_find(sem);
	if (watch && watch->type == WATCH_SEM)
		return watch;
	watch = watch_get(self, sem, WATCH_SEM);
	if (watch && is_shared(sem))
		watch_share(watch);
	int value = 0;
	if (watch && sem_getvalue(sem, &value) == 0)
		watch->initial = (uint32_t)value + taken;
	return watch;
}

/* Of a shared one, the post may have been another process's. */
static uint64_t last_poster(const struct watch *watch)
{
	return watch && !watch->sharing ? watch->last_op : 0;
}

/* A permit was there. */
static void taken(sem_t *sem, enum call call)
{
	struct self *self = hook_enter();
	if (!self)
		return;
	const struct watch *watch = watch_of(self, sem, 1);
	wait_met(self, REASON_SEM, call, sem, watch ? watch->ident : 0, last_poster(watch));
	self_leave(self);
}

static void sem_wait_begin(struct sem_wait_state *wait, sem_t *sem, enum call call,
			   struct caller caller)
{
	*wait = (struct sem_wait_state){ .result = -1 };
	struct self *self = hook_enter();
	if (!self)
		return;
	wait->watch = watch_of(self, sem, 0);
	if (wait->watch)
		watch_wait_begins(wait->watch);
	wait->handle = wait_begin(self, REASON_SEM, call, sem, wait->watch ? wait->watch->ident : 0,
				  caller_stack(self, caller), caller.frame);
	self_leave(self);
}

/* Also when a cancellation unwinds through the wait. */
static void sem_wait_end(struct sem_wait_state *wait)
{
	if (wait->watch)
		watch_wait_ends(wait->watch);
	/* Interrupted or cancelled, it took no permit either. */
	bool has_permit = wait->result == 0;
	uint64_t target = has_permit ? last_poster(wait->watch) : 0;
	if (target != 0)
		wait_takes_longer(wait->handle, wait->watch->last_ticks);
	struct self *self = wait->handle ? hook_enter() : NULL;
	if (!self)
		return;
	if (has_permit || !wait->is_timed)
		wait_end(self, wait->handle, target, has_permit ? 0 : RECORD_TIMED_OUT);
	else
		wait_end_late(self, wait->handle, &wait->until);
	self_leave(self);
}

#define SEM_WAIT __attribute__((cleanup(sem_wait_end))) struct sem_wait_state

static int finished(struct sem_wait_state *wait, int result)
{
	wait->result = result;
	return result;
}

static bool was_there(sem_t *sem)
{
	int error = errno;
	if (real.sem_trywait(sem) == 0)
		return true;
	errno = error;
	return false;
}

int hook_sem_wait(sem_t *sem)
{
	pthread_testcancel();
	if (was_there(sem)) {
		taken(sem, CALL_sem_wait);
		return 0;
	}
	SEM_WAIT wait;
	sem_wait_begin(&wait, sem, CALL_sem_wait, CALLER);
	return finished(&wait, real.sem_wait(sem));
}

int hook_sem_timedwait(sem_t *sem, const struct timespec *until)
{
	SEM_WAIT wait;
	sem_wait_begin(&wait, sem, CALL_sem_timedwait, CALLER);
	wait.is_timed = true;
	wait.until = *until;
	return finished(&wait, real.sem_timedwait(sem, until));
}

int hook_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	SEM_WAIT wait;
	sem_wait_begin(&wait, sem, CALL_sem_clockwait, CALLER);
	wait.is_timed = true;
	wait.until = *until;
	return finished(&wait, real.sem_clockwait(sem, clock, until));
}

/* A failed try took nothing. */
int hook_sem_trywait(sem_t *sem)
{
	int result = real.sem_trywait(sem);
	if (result == 0)
		taken(sem, CALL_sem_trywait);
	return result;
}

/* Recorded before it is given: whoever takes the permit may be faster than we are, and may free
 * it. */
int hook_sem_post(sem_t *sem)
{
	struct caller caller = CALLER;
	struct self *self = hook_enter();
	if (self) {
		struct watch *watch = watch_of(self, sem, 0);
		if (watch)
			wake_announce(self, LINK_POST, watch, watch->initial, 0,
				      watch_is_waited_on(watch) ? caller_stack(self, caller) : 0);
		self_leave(self);
	}
	return real.sem_post(sem);
}

int hook_sem_init(sem_t *sem, int shared, unsigned int value)
{
	int result = real.sem_init(sem, shared, value);
	struct self *self = result == 0 ? hook_enter() : NULL;
	if (!self)
		return result;
	watch_forget(sem);
	init_record(self, sem, caller_stack(self, CALLER));
	struct watch *watch = watch_get(self, sem, WATCH_SEM);
	if (watch) {
		watch->initial = value;
		if (shared)
			watch_share(watch);
	}
	self_leave(self);
	return result;
}

int hook_sem_destroy(sem_t *sem)
{
	int result = real.sem_destroy(sem);
	if (result == 0)
		watch_forget(sem);
	return result;
}
