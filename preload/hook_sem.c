/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semaphores: every post and every wait is recorded, also where nobody had to wait, because the
 * replay counts permits. A wait that found one is a wait of next to no time.
 *
 * No try comes first: the real call acts on a pending cancellation and judges its deadline before
 * it looks at the permits. A semaphore is watched from its first call; what it held then is its
 * initial value (as far as that can be known of one that others are using already). Threads: any;
 * sem_post() also from signal handlers.
 */
#include "hooks.h"

struct sem_wait_state {
	struct watch *watch;
	uint64_t handle;
	int result;
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

static struct watch *watch_of(struct self *self, sem_t *sem)
{
	struct watch *watch = watch_find(sem);
	if (watch && watch->type == WATCH_SEM)
		return watch;
	watch = watch_get(self, sem, WATCH_SEM);
	if (watch && is_shared(sem))
		watch_share(watch);
	int value = 0;
	if (watch && sem_getvalue(sem, &value) == 0)
		watch->initial = (uint32_t)value;
	return watch;
}

static void sem_wait_begin(struct sem_wait_state *wait, sem_t *sem, enum call call,
			   struct caller caller)
{
	*wait = (struct sem_wait_state){ .result = -1 };
	struct self *self = hook_enter();
	if (!self)
		return;
	wait->watch = watch_of(self, sem);
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
	struct self *self = wait->handle ? hook_enter() : NULL;
	if (!self)
		return;
	/* Of a shared one, the post may have been another process's. */
	bool is_known = wait->watch && wait->result == 0 && !wait->watch->sharing;
	uint64_t poster = is_known ? wait->watch->last_op : 0;
	/* Interrupted or cancelled, it took no permit either. */
	wait_end(self, wait->handle, poster, wait->result != 0 ? RECORD_TIMED_OUT : 0);
	self_leave(self);
}

#define SEM_WAIT __attribute__((cleanup(sem_wait_end))) struct sem_wait_state

static int finished(struct sem_wait_state *wait, int result)
{
	wait->result = result;
	return result;
}

int hook_sem_wait(sem_t *sem)
{
	SEM_WAIT wait;
	sem_wait_begin(&wait, sem, CALL_sem_wait, CALLER);
	return finished(&wait, real.sem_wait(sem));
}

int hook_sem_timedwait(sem_t *sem, const struct timespec *until)
{
	SEM_WAIT wait;
	sem_wait_begin(&wait, sem, CALL_sem_timedwait, CALLER);
	return finished(&wait, real.sem_timedwait(sem, until));
}

int hook_sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	SEM_WAIT wait;
	sem_wait_begin(&wait, sem, CALL_sem_clockwait, CALLER);
	return finished(&wait, real.sem_clockwait(sem, clock, until));
}

/* A permit taken without waiting; a failed try took nothing. */
int hook_sem_trywait(sem_t *sem)
{
	int result = real.sem_trywait(sem);
	if (result != 0)
		return result;
	struct sem_wait_state wait;
	sem_wait_begin(&wait, sem, CALL_sem_trywait, CALLER);
	wait.result = 0;
	sem_wait_end(&wait);
	return result;
}

/* Recorded before it is given: whoever takes the permit may be faster than we are, and may free
 * it. */
int hook_sem_post(sem_t *sem)
{
	struct caller caller = CALLER;
	struct self *self = hook_enter();
	if (self) {
		struct watch *watch = watch_of(self, sem);
		if (watch) {
			watch->last_op = op_current(self);
			watch->last_ticks = clock_ticks();
			wake_record(self, LINK_POST, watch, watch->initial, 0,
				    watch_is_waited_on(watch) ? caller_stack(self, caller) : 0);
		}
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
