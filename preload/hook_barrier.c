/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers and one-time initialisers.
 *
 * Barrier: every arrival is a wait, its target the op that arrived last. Each thread leaves its op
 * in the watch as it arrives. So the op that threads find there when they get through is the last
 * one's, unless a fast thread has come round again already. The thread that libc calls "serial"
 * records the wake, with the number of parties less itself. Once: a thread that finds the
 * initialiser running waits for the op of the thread that runs it. The thread that runs it does not
 * wait; it records the wake when it is done, maybe a moment after the others went on.
 */
#include "locks.h"

/* Where libc keeps the number of parties; for a barrier that was made before recording began. */
struct barrier_inside {
	unsigned int in;
	unsigned int current_round;
	unsigned int count;
	int shared;
};

_Static_assert(sizeof(struct barrier_inside) <= sizeof(pthread_barrier_t), "libc's is larger");

static uint32_t parties_of(const pthread_barrier_t *barrier)
{
	unsigned int count;
	__builtin_memcpy(&count, (const char *)barrier + offsetof(struct barrier_inside, count),
			 sizeof(count));
	return count;
}

static bool is_shared(const pthread_barrier_t *barrier)
{
	int shared;
	__builtin_memcpy(&shared, (const char *)barrier + offsetof(struct barrier_inside, shared),
			 sizeof(shared));
	return shared != 0;
}

int hook_pthread_barrier_wait(pthread_barrier_t *barrier)
{
	struct caller caller = CALLER;
	struct self *self = hook_enter();
	if (!self)
		return real.pthread_barrier_wait(barrier);
	struct watch *watch = watch_get(self, barrier, WATCH_BARRIER);
	if (watch) {
		watch->initial = parties_of(barrier);
		if (is_shared(barrier))
			watch_share(watch);
		watch->last_op = op_current(self);
		watch->last_ticks = clock_ticks();
	}
	uint64_t handle =
		wait_begin(self, REASON_BARRIER, CALL_pthread_barrier_wait, barrier,
			   watch ? watch->ident : 0, caller_stack(self, caller), caller.frame);
	self_leave(self);

	int result = real.pthread_barrier_wait(barrier);

	bool is_last = result == PTHREAD_BARRIER_SERIAL_THREAD;
	/* Of a shared one, the last to arrive may be another process's. */
	uint64_t target = watch && !is_last && !watch->sharing ? watch->last_op : 0;
	if (target != 0)
		wait_takes_longer(handle, watch->last_ticks);
	self = hook_enter();
	if (!self)
		return result;
	wait_end(self, handle, target, 0);
	if (watch && is_last)
		wake_record(self, LINK_WAKE, watch, watch->initial - 1, RECORD_ALL, 0);
	self_leave(self);
	return result;
}

int hook_pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes,
			      unsigned int parties)
{
	lock_made(barrier, CALLER);
	return real.pthread_barrier_init(barrier, attributes, parties);
}

int hook_pthread_barrier_destroy(pthread_barrier_t *barrier)
{
	int result = real.pthread_barrier_destroy(barrier);
	if (result == 0)
		watch_forget(barrier);
	return result;
}

/* libc's states of a once control. */
enum { ONCE_IN_PROGRESS = 1, ONCE_DONE = 2 };

struct once_wait {
	struct watch *watch;
	const int *control;
	uint64_t handle; /* 0: runs the initialiser itself, or found it done */
};

static void once_begin(struct once_wait *wait, const int *control, enum call call,
		       struct caller caller)
{
	*wait = (struct once_wait){ .handle = 0 };
	int state = __atomic_load_n(control, __ATOMIC_ACQUIRE);
	struct self *self = state & ONCE_DONE ? NULL : hook_enter();
	if (!self)
		return;
	wait->control = control;
	wait->watch = watch_get(self, control, WATCH_ONCE);
	if (state & ONCE_IN_PROGRESS)
		wait->handle = wait_begin(self, REASON_ONCE, call, control,
					  wait->watch ? wait->watch->ident : 0,
					  caller_stack(self, caller), caller.frame);
	else if (wait->watch)
		wait->watch->last_op = op_current(self);
	self_leave(self);
}

static void once_end(struct once_wait *wait)
{
	struct self *self = wait->watch || wait->handle ? hook_enter() : NULL;
	if (!self)
		return;
	if (wait->handle)
		wait_end(self, wait->handle, wait->watch ? wait->watch->last_op : 0, 0);
	else if (wait->watch)
		wake_record(self, LINK_WAKE, wait->watch, UINT32_MAX, RECORD_ALL, 0);
	self_leave(self);
}

/* The initialiser may throw, be cancelled or never return, so a wait also ends by unwinding. */
#define ONCE_WAIT __attribute__((cleanup(once_end))) struct once_wait

int hook_pthread_once(pthread_once_t *control, void (*routine)(void))
{
	ONCE_WAIT wait;
	once_begin(&wait, control, CALL_pthread_once, CALLER);
	return real.pthread_once(control, routine);
}

void hook_call_once(once_flag *control, void (*routine)(void))
{
	_Static_assert(sizeof(once_flag) == sizeof(int), "libc's once_flag is its once control");
	ONCE_WAIT wait;
	once_begin(&wait, (const int *)control, CALL_call_once, CALLER);
	real.call_once(control, routine);
}
