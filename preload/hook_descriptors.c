/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that make, close or change descriptors, for what the recorder knows of them. No op, but for
 * fcntl() where it is about a lock.
 *
 * Closing a descriptor is noted before the real call: after it, the number may be another thread's
 * already. Putting a descriptor in another one's place is noted after it. A child of vfork() may
 * say that descriptors are gone which its parent still has: they are looked up once more. Threads:
 * any; nothing is held across the real call.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "filelocks.h"

static void made(int fd)
{
	if (fd >= 0)
		descriptor_forget(fd);
}

#define MAKES(type, symbol, parameters, arguments)   \
	type hook_##symbol parameters                \
	{                                            \
		type result = real.symbol arguments; \
		made(result);                        \
		return result;                       \
	}
#define CLOSES(type, symbol, parameters, arguments, fd) \
	type hook_##symbol parameters                   \
	{                                               \
		descriptor_forget(fd);                  \
		return real.symbol arguments;           \
	}
#include "hooks.def"

/* --- Pairs --- */

static int made_pipe(int result, const int ends[2])
{
	if (result == 0) {
		made(ends[0]);
		made(ends[1]);
	}
	return result;
}

int hook_openpty(int *first, int *second, char *name, const struct termios *modes,
		 const struct winsize *size)
{
	int result = real.openpty(first, second, name, modes, size);
	if (result == 0) {
		made(*first);
		made(*second);
	}
	return result;
}

/* The terminal takes the place of the first three. */
int hook_login_tty(int fd)
{
	int result = real.login_tty(fd);
	for (int place = STDIN_FILENO; place <= STDERR_FILENO && result == 0; place++)
		descriptor_forget(place);
	if (result == 0)
		descriptor_forget(fd);
	return result;
}

int hook_pipe(int ends[2])
{
	return made_pipe(real.pipe(ends), ends);
}

int hook_pipe2(int ends[2], int flags)
{
	return made_pipe(real.pipe2(ends, flags), ends);
}

int hook___pipe(int ends[2])
{
	return made_pipe(real.__pipe(ends), ends);
}

/* Which other socket an end of a pair is connected to can be told only now. */
int hook_socketpair(int domain, int type, int protocol, int ends[2])
{
	int result = real.socketpair(domain, type, protocol, ends);
	if (result == 0)
		descriptor_paired(ends[0], ends[1]);
	return result;
}

/* --- Eventfds, which nothing but their making tells apart, and copies --- */

int hook_eventfd(unsigned int value, int flags)
{
	int result = real.eventfd(value, flags);
	if (result >= 0)
		descriptor_counted(result);
	return result;
}

static int copied(int result, int fd)
{
	if (result >= 0)
		descriptor_copied(result, fd);
	return result;
}

int hook_dup(int fd)
{
	return copied(real.dup(fd), fd);
}

int hook_dup2(int fd, int to)
{
	return copied(real.dup2(fd, to), fd);
}

int hook___dup2(int fd, int to)
{
	return copied(real.__dup2(fd, to), fd);
}

int hook_dup3(int fd, int to, int flags)
{
	return copied(real.dup3(fd, to, flags), fd);
}

/* --- Many at once, and the raw way --- */

int hook_close_range(unsigned int first, unsigned int last, int flags)
{
	descriptor_forget_range(first, last);
	return real.close_range(first, last, flags);
}

void hook_closefrom(int first)
{
	descriptor_forget_range(first > 0 ? (unsigned int)first : 0, UINT32_MAX);
	real.closefrom(first);
}

/* From syscall.S; `number` is one of those below. */
long hook_raw_descriptors(long number, long a, long b, long c)
{
	if (number == SYS_close_range)
		descriptor_forget_range((uint32_t)a, (uint32_t)b);
	long result = real.syscall(number, a, b, c, 0, 0, 0);
	if (number == SYS_dup2 || number == SYS_dup3)
		(void)copied((int)result, (int)a);
	return result;
}

/* --- fcntl() --- */

typedef int fcntl_call(int, int, long);

static int change_lock(fcntl_call *call, int fd, int command, long argument, struct caller caller)
{
	struct self *self = hook_enter();
	uint64_t op = 0;
	if (self)
		op = op_begin(self, KIND_IO, CALL_fcntl, 0, fd, caller_stack(self, caller),
			      caller.frame);
	self_leave(self);
	int result = call(fd, command, argument);
	file_lock_note(op, result, fd, command, (const struct flock *)argument);
	int error = errno;
	self = hook_enter_end(op, false);
	if (self)
		op_end(self, op, result < 0 ? OUTCOME_ERROR : OUTCOME_OK,
		       result < 0 ? (uint64_t)-error : 0);
	self_leave(self);
	return result;
}

/* The kernel forgets it when any thread of the process closes its copy of the descriptor. */
int hook_mq_notify(mqd_t queue, const struct sigevent *event)
{
	if (event)
		recorder_closes_nothing();
	return real.mq_notify(queue, event);
}

static int control(fcntl_call *call, int fd, int command, long argument, struct caller caller)
{
	if (file_lock_is_asked(command))
		return change_lock(call, fd, command, argument, caller);
	int result = call(fd, command, argument);
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		(void)copied(result, fd);
	return result;
}

int hook_fcntl(int fd, int command, long argument)
{
	return control(real.fcntl, fd, command, argument, CALLER);
}

int hook_fcntl64(int fd, int command, long argument)
{
	return control(real.fcntl64, fd, command, argument, CALLER);
}

int hook___fcntl(int fd, int command, long argument)
{
	return control(real.__fcntl, fd, command, argument, CALLER);
}
