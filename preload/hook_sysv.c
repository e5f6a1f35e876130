/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semaphores of System V: an operation that may have to wait is a wait for a permit. The resource
 * is the set, by its number, which all processes share: "sysv semaphores NUMBER".
 *
 * The program's own memory tells whether an operation can wait. It is read after the kernel has
 * read it: a bad address is the kernel's to refuse. So the wait is begun before every call, and
 * dropped after those that cannot have waited. An operation on one semaphore takes a permit of it,
 * or gives one, at the time before the call. Threads: any; also unwound through by a cancellation.
 */
#include <errno.h>

#include "hooks.h"

struct set_wait {
	uint64_t handle;
	uint64_t began_ticks;
	uint64_t address; /* of the one semaphore that was taken or posted; 0 = of no one alone */
	uint32_t name;
	uint32_t posted;
	bool is_wait;
	bool is_timed_out;
};

static uint32_t set_name(int set)
{
	struct hooks_name name = { .used = 0 };

	hooks_name_put(&name, "sysv semaphores ", (unsigned int)set);
	return string_intern(name.bytes, name.used);
}

static void set_wait_begin(struct set_wait *wait, int set, enum call call, struct caller caller)
{
	*wait = (struct set_wait){ .is_wait = true };
	struct self *self = hook_enter();
	if (!self)
		return;
	wait->name = set_name(set);
	wait->began_ticks = clock_ticks();
	wait->handle = wait_begin(self, REASON_SEM, call, NULL, wait->name,
				  caller_stack(self, caller), caller.frame);
	self_leave(self);
}

static void set_wait_end(struct set_wait *wait)
{
	struct self *self = wait->handle ? hook_enter() : NULL;
	if (!self)
		return;
	wait_set_address(self, wait->handle, wait->address);
	if (wait->is_wait)
		wait_end(self, wait->handle, 0, wait->is_timed_out ? RECORD_TIMED_OUT : 0);
	else
		wait_drop(self, wait->handle);
	for (uint32_t i = 0; i < wait->posted; i++)
		post_record(self, wait->address, wait->name, wait->began_ticks);
	self_leave(self);
}

#define SET_WAIT __attribute__((cleanup(set_wait_end))) struct set_wait

/* A release never waits, and what may not wait fails instead. */
static bool can_wait(const struct sembuf *operations, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (operations[i].sem_op <= 0 && !(operations[i].sem_flg & IPC_NOWAIT))
			return true;
	return false;
}

/* A permit taken, or so many put in. Of several at once nobody can say which was waited for. */
static void finish_one(struct set_wait *wait, int set, const struct sembuf *operation)
{
	enum { POSTED_MAX = 16 };

	if (operation->sem_op == 0 || operation->sem_op < -1 || operation->sem_op > POSTED_MAX)
		return;
	wait->address = KERNEL_OBJECT | (uint64_t)(uint32_t)set << 16 | operation->sem_num;
	wait->is_wait = operation->sem_op < 0;
	wait->posted = operation->sem_op > 0 ? (uint32_t)operation->sem_op : 0;
}

static int finished(struct set_wait *wait, int set, const struct sembuf *operations, size_t count,
		    bool is_timed, int result)
{
	bool is_read = result == 0 || errno == EAGAIN || errno == EINTR || errno == EIDRM;
	wait->is_wait = is_read && can_wait(operations, count);
	wait->is_timed_out = is_timed && result != 0 && errno == EAGAIN;
	if (result == 0 && count == 1)
		finish_one(wait, set, operations);
	return result;
}

int hook_semop(int set, struct sembuf *operations, size_t count)
{
	SET_WAIT wait;
	set_wait_begin(&wait, set, CALL_semop, CALLER);
	return finished(&wait, set, operations, count, false, real.semop(set, operations, count));
}

int hook_semtimedop(int set, struct sembuf *operations, size_t count, const struct timespec *limit)
{
	SET_WAIT wait;
	set_wait_begin(&wait, set, CALL_semtimedop, CALLER);
	return finished(&wait, set, operations, count, limit != NULL,
			real.semtimedop(set, operations, count, limit));
}
