/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads: creation is announced by the creator and begun by the new thread itself, as its first
 * act; joins are waits for the thread's op. Ends are heard of in lifecycle.c.
 *
 * The data for the new thread travels in a parcel from a fixed table. The heap is not ours, and may
 * be locked by the creating thread. When all parcels are under way at once, the thread is created
 * unannounced. It registers at its first event then, like a thread that was there before us.
 *
 * A thread's watch is keyed by its pthread_t. Its creator sets it before anybody can join the
 * thread, if the program has the pthread_t written to the creator's own stack. Elsewhere it may be
 * gone when the call returns, as a new thread may free what it was made for. Such a thread sets its
 * watch itself when it registers: before its start routine, where it was announced. Then a join
 * that comes before that may be named after the next thread of that number.
 */
#include <errno.h>

#include "hooks.h"
#include "watch.h"

struct parcel {
	union {
		void *(*pthread)(void *);
		thrd_start_t c11;
	} start;
	void *argument;
	uint64_t announced;
	uint64_t parent_op;
	bool is_told;      /* its creator sets its watch */
	uint32_t is_taken; /* 0 -> 1 by the creator, 1 -> 0 by the new thread after copying */
};

enum {
	PARCELS_MAX = 512, /* threads created and not yet running; 512 parcels of 40 bytes */
	NEAR_BYTES = 8192  /* above the hook's frame: its callers' */
};

static struct parcel parcels[PARCELS_MAX];
static uint32_t next_parcel;

static struct parcel *parcel_take(void)
{
	uint32_t first = __atomic_fetch_add(&next_parcel, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < PARCELS_MAX; i++) {
		struct parcel *parcel = &parcels[(first + i) % PARCELS_MAX];
		uint32_t unused = 0;
		/* Acquire pairs with the release in parcel_give_back(): the last user's copy is
		 * done. */
		if (__atomic_compare_exchange_n(&parcel->is_taken, &unused, 1, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return parcel;
	}
	return NULL;
}

static void parcel_give_back(struct parcel *parcel)
{
	__atomic_store_n(&parcel->is_taken, 0, __ATOMIC_RELEASE);
}

/* Announces a thread; NULL: create it as if recording were off. */
static struct parcel *announce(const void *start_routine)
{
	struct self *self = hook_enter();
	if (!self)
		return NULL;
	struct parcel *parcel = parcel_take();
	if (parcel) {
		parcel->announced = thread_announce(self, start_routine);
		parcel->parent_op = op_current(self);
	}
	self_leave(self);
	return parcel;
}

/* The new thread's first act. */
static struct parcel begin(struct parcel *sent, const void *stack_top)
{
	struct parcel parcel = *sent;
	parcel_give_back(sent);
	if (parcel.is_told)
		watch_thread_is_told();
	thread_begin(parcel.announced, parcel.parent_op, (const void *)parcel.start.pthread,
		     stack_top);
	signal_thread_begins();
	self_leave(hook_enter());
	return parcel;
}

static void *start_pthread(void *sent)
{
	struct parcel parcel = begin(sent, __builtin_frame_address(0));
	return parcel.start.pthread(parcel.argument);
}

static int start_c11(void *sent)
{
	struct parcel parcel = begin(sent, __builtin_frame_address(0));
	return parcel.start.c11(parcel.argument);
}

static int create_pthread(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *argument)
{
	bool is_again = false;
	int result;
	do
		result = real.pthread_create(thread, attributes, start, argument);
	while (hooks_try_again(&is_again, result));
	return result;
}

/* Its error does not say which limit it was. */
static int create_c11(thrd_t *thread, thrd_start_t start, void *argument)
{
	bool is_again = false;
	int result;
	do
		result = real.thrd_create(thread, start, argument);
	while (hooks_try_again(&is_again, result == thrd_success ? 0 : EAGAIN));
	return result;
}

/* It stays there until the creator's call returns, and somebody may join the thread. */
static bool is_told_of(const void *number, const pthread_attr_t *attributes)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), at = (uintptr_t)number;
	int state = PTHREAD_CREATE_JOINABLE;
	if (attributes && pthread_attr_getdetachstate(attributes, &state) != 0)
		return false;
	return state == PTHREAD_CREATE_JOINABLE && at > here && at - here < NEAR_BYTES;
}

static void tell(pthread_t thread, uint64_t op)
{
	struct self *self = hook_enter();
	if (!self)
		return;
	watch_tell_of_thread(self, (const void *)thread, op);
	self_leave(self);
}

int hook_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
			void *argument)
{
	struct parcel *parcel = announce((const void *)start);
	if (!parcel)
		return create_pthread(thread, attributes, start, argument);
	uint64_t op = parcel->announced;
	bool is_told = is_told_of(thread, attributes);
	parcel->start.pthread = start;
	parcel->argument = argument;
	parcel->is_told = is_told;
	int result = create_pthread(thread, attributes, start_pthread, parcel);
	if (result != 0)
		parcel_give_back(parcel);
	else if (is_told)
		tell(*thread, op);
	return result;
}

int hook_thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
	struct parcel *parcel = announce((const void *)start);
	if (!parcel)
		return create_c11(thread, start, argument);
	uint64_t op = parcel->announced;
	bool is_told = is_told_of(thread, NULL);
	parcel->start.c11 = start;
	parcel->argument = argument;
	parcel->is_told = is_told;
	int result = create_c11(thread, start_c11, parcel);
	if (result != thrd_success)
		parcel_give_back(parcel);
	else if (is_told)
		tell(*thread, op);
	return result;
}

struct join_wait {
	uint64_t handle;
	uint64_t target;
	const void *thread;
	bool is_joined;
	bool is_timed_out;
};

static void join_begin(struct join_wait *wait, pthread_t thread, enum call call,
		       struct caller caller)
{
	*wait = (struct join_wait){ .thread = (const void *)thread };
	struct self *self = hook_enter();
	if (!self)
		return;
	wait->target = watch_thread_op(wait->thread);
	wait->handle = wait_begin(self, REASON_JOIN, call, wait->thread, 0,
				  caller_stack(self, caller), caller.frame);
	self_leave(self);
}

/*
 * Also when a cancellation unwinds through the join. A thread that had not begun before we looked
 * has by now. Its address may belong to a new thread already, so the identity known before comes
 * first. It is forgotten, as that new thread may be joined before it has begun.
 */
static void join_end(struct join_wait *wait)
{
	struct self *self = wait->handle ? hook_enter() : NULL;
	if (!self)
		return;
	uint64_t target = wait->target ? wait->target : watch_thread_op(wait->thread);
	if (wait->is_joined)
		watch_forget_thread(wait->thread, target);
	wait_end(self, wait->handle, wait->is_joined ? target : 0,
		 wait->is_timed_out ? RECORD_TIMED_OUT : 0);
	self_leave(self);
}

#define JOIN_WAIT __attribute__((cleanup(join_end))) struct join_wait

static int finished(struct join_wait *wait, int result)
{
	wait->is_joined = result == 0;
	wait->is_timed_out = result == ETIMEDOUT;
	return result;
}

int hook_pthread_join(pthread_t thread, void **result)
{
	JOIN_WAIT wait;
	join_begin(&wait, thread, CALL_pthread_join, CALLER);
	return finished(&wait, real.pthread_join(thread, result));
}

int hook_pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
	JOIN_WAIT wait;
	join_begin(&wait, thread, CALL_pthread_timedjoin_np, CALLER);
	return finished(&wait, real.pthread_timedjoin_np(thread, result, until));
}

int hook_pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
			      const struct timespec *until)
{
	JOIN_WAIT wait;
	join_begin(&wait, thread, CALL_pthread_clockjoin_np, CALLER);
	return finished(&wait, real.pthread_clockjoin_np(thread, result, clock, until));
}

int hook_thrd_join(thrd_t thread, int *result)
{
	JOIN_WAIT wait;
	join_begin(&wait, thread, CALL_thrd_join, CALLER);
	int code = real.thrd_join(thread, result);
	wait.is_joined = code == thrd_success;
	return code;
}

/* A try that succeeds is a join that took no time; one that fails is nothing. */
int hook_pthread_tryjoin_np(pthread_t thread, void **result)
{
	struct caller caller = CALLER;
	uint64_t target = watch_thread_op((const void *)thread);
	int code = real.pthread_tryjoin_np(thread, result);
	if (code != 0)
		return code;
	struct join_wait wait;
	join_begin(&wait, thread, CALL_pthread_tryjoin_np, caller);
	wait.target = target;
	wait.is_joined = true;
	join_end(&wait);
	return code;
}

/* --- Detaching: nobody will wait for its end --- */

/* Before the call, after which its number may be a new thread's already. */
int hook_pthread_detach(pthread_t thread)
{
	watch_forget((const void *)thread);
	return real.pthread_detach(thread);
}

int hook_thrd_detach(thrd_t thread)
{
	watch_forget((const void *)thread);
	return real.thrd_detach(thread);
}
