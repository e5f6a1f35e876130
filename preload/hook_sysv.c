/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semaphores of System V: an operation that may have to wait is a wait for a permit. The resource
 * is the set, by its number, which all processes share: "sysv semaphores NUMBER".
 *
 * The program's own memory tells whether an operation can wait. It is read after the kernel has
 * read it: a bad address is the kernel's to refuse. So the wait is begun before every call, and
 * dropped after those that cannot have waited. Threads: any; also unwound through by a
 * cancellation.
 */
#include <errno.h>

#include "hooks.h"

struct set_wait {
	uint64_t handle;
	bool is_wait;
	bool is_timed_out;
};

static uint32_t set_name(int set)
{
	static const char prefix[] = "sysv semaphores ";
	char text[sizeof(prefix) + 12];
	char *end = text + sizeof(text);
	char *at = end;
	unsigned int number = (unsigned int)set;

	do
		*--at = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	at -= sizeof(prefix) - 1;
	__builtin_memcpy(at, prefix, sizeof(prefix) - 1);
	return string_intern(at, (size_t)(end - at));
}

static void set_wait_begin(struct set_wait *wait, int set, enum call call, struct caller caller)
{
	*wait = (struct set_wait){ .is_wait = true };
	struct self *self = hook_enter();
	if (!self)
		return;
	wait->handle = wait_begin(self, REASON_SEM, call, NULL, set_name(set),
				  caller_stack(self, caller), caller.frame);
	self_leave(self);
}

static void set_wait_end(struct set_wait *wait)
{
	struct self *self = wait->handle ? hook_enter() : NULL;
	if (!self)
		return;
	if (wait->is_wait)
		wait_end(self, wait->handle, 0, wait->is_timed_out ? RECORD_TIMED_OUT : 0);
	else
		wait_drop(self, wait->handle);
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

static int finished(struct set_wait *wait, const struct sembuf *operations, size_t count,
		    bool is_timed, int result)
{
	bool is_read = result == 0 || errno == EAGAIN || errno == EINTR || errno == EIDRM;
	wait->is_wait = is_read && can_wait(operations, count);
	wait->is_timed_out = is_timed && result != 0 && errno == EAGAIN;
	return result;
}

int hook_semop(int set, struct sembuf *operations, size_t count)
{
	SET_WAIT wait;
	set_wait_begin(&wait, set, CALL_semop, CALLER);
	return finished(&wait, operations, count, false, real.semop(set, operations, count));
}

int hook_semtimedop(int set, struct sembuf *operations, size_t count, const struct timespec *limit)
{
	SET_WAIT wait;
	set_wait_begin(&wait, set, CALL_semtimedop, CALLER);
	return finished(&wait, operations, count, limit != NULL,
			real.semtimedop(set, operations, count, limit));
}
