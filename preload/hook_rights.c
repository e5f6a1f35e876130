/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that change users, groups, capabilities and name spaces. Only initgroups() is recorded: it
 * asks the name service.
 *
 * libc makes the calls about users and groups in every thread, and aborts when one gets another
 * result. The kernel moves a process to a user name space only while it has one thread. So the
 * control thread ends before such a call when it would be in the way. It is not when it has the
 * rights of the calling thread: then it goes with it, and keeps its socket.
 *
 * After a filter of system calls nothing of ours is done any more, in this process and in its
 * forked children. Any call may be the last one.
 *
 * Capabilities that a program gives up are not to stay with a thread of ours.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>

#include "hooks.h"

static int step_back(bool was_there, int result)
{
	int error = errno;
	recorder_steps_back(was_there);
	errno = error;
	return result;
}

int hook_setuid(uid_t user)
{
	bool was_there = recorder_steps_aside(ASIDE_IF_RIGHTS_DIFFER);
	return step_back(was_there, real.setuid(user));
}

int hook_seteuid(uid_t effective)
{
	bool was_there = recorder_steps_aside(ASIDE_IF_RIGHTS_DIFFER);
	return step_back(was_there, real.seteuid(effective));
}

int hook_setreuid(uid_t user, uid_t effective)
{
	bool was_there = recorder_steps_aside(ASIDE_IF_RIGHTS_DIFFER);
	return step_back(was_there, real.setreuid(user, effective));
}

int hook_setresuid(uid_t user, uid_t effective, uid_t saved)
{
	bool was_there = recorder_steps_aside(ASIDE_IF_RIGHTS_DIFFER);
	return step_back(was_there, real.setresuid(user, effective, saved));
}

int hook_setgid(gid_t group)
{
	bool was_there = recorder_steps_aside(ASIDE_IF_RIGHTS_DIFFER);
	return step_back(was_there, real.setgid(group));
}

int hook_setegid(gid_t effective)
{
	bool was_there = recorder_steps_aside(ASIDE_IF_RIGHTS_DIFFER);
	return step_back(was_there, real.setegid(effective));
}

int hook_setregid(gid_t group, gid_t effective)
{
	bool was_there = recorder_steps_aside(ASIDE_IF_RIGHTS_DIFFER);
	return step_back(was_there, real.setregid(group, effective));
}

int hook_setresgid(gid_t group, gid_t effective, gid_t saved)
{
	bool was_there = recorder_steps_aside(ASIDE_IF_RIGHTS_DIFFER);
	return step_back(was_there, real.setresgid(group, effective, saved));
}

int hook_setgroups(size_t count, const gid_t *groups)
{
	bool was_there = recorder_steps_aside(ASIDE_IF_RIGHTS_DIFFER);
	return step_back(was_there, real.setgroups(count, groups));
}

/* Asks the name service first. */
int hook_initgroups(const char *user, gid_t group)
{
	struct caller caller = CALLER;
	struct self *self = hook_enter();
	uint64_t op = 0;
	if (self) {
		op = op_begin(self, KIND_DNS, CALL_initgroups, 0, -1, caller_stack(self, caller),
			      caller.frame);
		self_leave(self);
	}
	bool was_there = recorder_steps_aside(ASIDE_IF_RIGHTS_DIFFER);
	int result = step_back(was_there, real.initgroups(user, group));
	self = op ? hook_enter() : NULL;
	if (self) {
		op_end(self, op, result == 0 ? OUTCOME_OK : OUTCOME_ERROR, 0);
		self_leave(self);
	}
	return result;
}

int hook_capset(void *header, void *capabilities)
{
	bool was_there = recorder_steps_aside(ASIDE_ALWAYS);
	return step_back(was_there, real.capset(header, capabilities));
}

int hook_unshare(int flags)
{
	bool wants_one_thread = flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM);
	bool was_there = wants_one_thread && recorder_steps_aside(ASIDE_ALWAYS);
	return step_back(was_there, real.unshare(flags));
}

/* 0 = whatever the descriptor is of. */
int hook_setns(int fd, int type)
{
	bool wants_one_thread = type == 0 || type & CLONE_NEWUSER;
	bool was_there = wants_one_thread && recorder_steps_aside(ASIDE_ALWAYS);
	return step_back(was_there, real.setns(fd, type));
}

static long confined(const struct recorder_confinement *before, long result)
{
	int error = errno;
	if (result < 0)
		recorder_unconfine(before);
	errno = error;
	return result;
}

/* Without a filter it is a question, whether such calls are known here. */
static bool confines(long mode, unsigned long filter)
{
	return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter);
}

int hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (option != PR_SET_SECCOMP || !confines((long)a, b))
		return real.prctl(option, a, b, c, d);
	struct recorder_confinement before = recorder_confine();
	return (int)confined(&before, real.prctl(option, a, b, c, d));
}

/* By syscall(), which is its only name. Its operations are one less than those modes. */
long hook_raw_seccomp(long number, long operation, long flags, long filter)
{
	if (!confines(operation + 1, (unsigned long)filter))
		return real.syscall(number, operation, flags, filter, 0, 0, 0);
	struct recorder_confinement before = recorder_confine();
	return confined(&before, real.syscall(number, operation, flags, filter, 0, 0, 0));
}
