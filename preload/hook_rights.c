/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that change users, groups, capabilities, roots and name spaces. Three are recorded:
 * initgroups() asks the name service, the two that change the root look at files.
 *
 * libc makes the calls about users and groups in every thread, and aborts when one gets another
 * result. So the control thread ends before such a call when it would be in the way. It is not when
 * it has the rights of the calling thread: then it goes with it, and keeps its socket. All other
 * calls are the calling thread's own, by libc or by syscall() (rights.def). The control thread ends
 * before each, and comes back with the rights of a thread of the program.
 *
 * After a filter of system calls nothing of ours is done any more, in this process and in its
 * forked children. Any call may be the last one. The same holds where the clock may not be read any
 * more, and where system calls become signals.
 */
#include <errno.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "hooks.h"

/* Name spaces into which the caller itself goes. */
#define SPACES_OWN \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWCGROUP | CLONE_NEWUSER)

const unsigned char hooks_rights[RAW_NUMBERS] = {
#define GIVES_UP(call)               [SYS_##call] = 1,
#define GIVES_UP_IF(call, condition) [SYS_##call] = 1,
#include "rights.def"
	[SYS_seccomp] = 1,
	/* For hook_signal.c. */
	[SYS_rt_sigaction] = 1,
	[SYS_rt_sigprocmask] = 1,
	[SYS_sigaltstack] = 1,
};

static bool option_gives_up(int option)
{
	switch (option) {
#define OPTION_GIVES_UP(option) case option:
#include "rights.def"
		return true;
	default:
		return false;
	}
}

static bool gives_up(long number, long a, long b)
{
	switch (number) {
#define GIVES_UP(call) case SYS_##call:
#include "rights.def"
		return true;
#define GIVES_UP_IF(call, condition) \
	case SYS_##call:             \
		return condition;
#include "rights.def"
	default:
		return false;
	}
}

static int step_back(bool has_stepped, int result)
{
	int error = errno;
	recorder_steps_back(has_stepped);
	errno = error;
	return result;
}

#define STEPS_ASIDE(reason, symbol, parameters, arguments)               \
	int hook_##symbol parameters                                     \
	{                                                                \
		bool has_stepped = recorder_steps_aside(ASIDE_##reason); \
		return step_back(has_stepped, real.symbol arguments);    \
	}

/* --- Users and groups, in every thread --- */

STEPS_ASIDE(IF_RIGHTS_DIFFER, setuid, (uid_t user), (user))
STEPS_ASIDE(IF_RIGHTS_DIFFER, seteuid, (uid_t effective), (effective))
STEPS_ASIDE(IF_RIGHTS_DIFFER, setreuid, (uid_t user, uid_t effective), (user, effective))
STEPS_ASIDE(IF_RIGHTS_DIFFER, setresuid, (uid_t user, uid_t effective, uid_t saved),
	    (user, effective, saved))
STEPS_ASIDE(IF_RIGHTS_DIFFER, setgid, (gid_t group), (group))
STEPS_ASIDE(IF_RIGHTS_DIFFER, setegid, (gid_t effective), (effective))
STEPS_ASIDE(IF_RIGHTS_DIFFER, setregid, (gid_t group, gid_t effective), (group, effective))
STEPS_ASIDE(IF_RIGHTS_DIFFER, setresgid, (gid_t group, gid_t effective, gid_t saved),
	    (group, effective, saved))
STEPS_ASIDE(IF_RIGHTS_DIFFER, setgroups, (size_t count, const gid_t *groups), (count, groups))

static uint64_t begin(enum kind kind, enum call call, struct caller caller)
{
	struct self *self = hook_enter();
	if (!self)
		return 0;
	uint64_t op = op_begin(self, kind, call, 0, -1, caller_stack(self, caller), caller.frame);
	self_leave(self);
	return op;
}

static int end(uint64_t op, int result)
{
	struct self *self = hook_enter_end(op, false);
	if (self) {
		op_end(self, op, result == 0 ? OUTCOME_OK : OUTCOME_ERROR, 0);
		self_leave(self);
	}
	return result;
}

/* Asks the name service first, where the thread may be cancelled. */
static void step_back_at_end(bool *has_stepped)
{
	(void)step_back(*has_stepped, 0);
}

int hook_initgroups(const char *user, gid_t group)
{
	uint64_t op = begin(KIND_DNS, CALL_initgroups, CALLER);
	__attribute__((cleanup(step_back_at_end), unused)) bool has_stepped =
		recorder_steps_aside(ASIDE_IF_RIGHTS_DIFFER);
	return end(op, real.initgroups(user, group));
}

/* --- The calling thread's own --- */

static bool step_aside_for(long number, long a, long b)
{
	return gives_up(number, a, b) &&
	       recorder_steps_aside(number == SYS_prctl ? ASIDE_BRIEFLY : ASIDE_ALWAYS);
}

STEPS_ASIDE(ALWAYS, setfsuid, (uid_t user), (user))
STEPS_ASIDE(ALWAYS, setfsgid, (gid_t group), (group))

int hook_capset(void *header, void *capabilities)
{
	bool has_stepped = step_aside_for(SYS_capset, 0, 0);
	return step_back(has_stepped, real.capset(header, capabilities));
}

int hook_chroot(const char *path)
{
	struct caller caller = CALLER;
	bool has_stepped = step_aside_for(SYS_chroot, 0, 0);
	uint64_t op = begin(KIND_IO, CALL_chroot, caller);
	return step_back(has_stepped, end(op, real.chroot(path)));
}

int hook_pivot_root(const char *root, const char *old)
{
	struct caller caller = CALLER;
	bool has_stepped = step_aside_for(SYS_pivot_root, 0, 0);
	uint64_t op = begin(KIND_IO, CALL_pivot_root, caller);
	return step_back(has_stepped, end(op, real.pivot_root(root, old)));
}

int hook_unshare(int flags)
{
	bool has_stepped = step_aside_for(SYS_unshare, flags, 0);
	return step_back(has_stepped, real.unshare(flags));
}

int hook_setns(int fd, int type)
{
	bool has_stepped = step_aside_for(SYS_setns, fd, type);
	return step_back(has_stepped, real.setns(fd, type));
}

/* --- Filters of system calls, and options --- */

static long confined(const struct recorder_confinement *before, long result)
{
	int error = errno;
	if (result < 0)
		recorder_unconfine(before);
	errno = error;
	return result;
}

/* Without a filter it is a question, whether such calls are known here. */
static bool filters(long mode, unsigned long filter)
{
	return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter);
}

static bool option_confines(int option, unsigned long a, unsigned long b)
{
	return (option == PR_SET_SECCOMP && filters((long)a, b)) ||
	       (option == PR_SET_TSC && a == PR_TSC_SIGSEGV) ||
	       (option == PR_SET_SYSCALL_USER_DISPATCH && a == PR_SYS_DISPATCH_ON);
}

int hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (option_confines(option, a, b)) {
		struct recorder_confinement before = recorder_confine();
		return (int)confined(&before, real.prctl(option, a, b, c, d));
	}
	bool has_stepped = step_aside_for(SYS_prctl, option, 0);
	return step_back(has_stepped, real.prctl(option, a, b, c, d));
}

/* --- By syscall() --- */

/* The operations of seccomp() are one less than those modes. */
static bool confines(long number, long a, long b, long c)
{
	if (number == SYS_seccomp)
		return filters(a + 1, (unsigned long)c);
	return number == SYS_prctl && option_confines((int)a, (unsigned long)b, (unsigned long)c);
}

static long step_back_raw(bool has_stepped, long result)
{
	(void)step_back(has_stepped, 0);
	return result;
}

/* None of these calls has a sixth argument. */
long hook_raw_rights(long number, long a, long b, long c, long d, long e)
{
	if (confines(number, a, b, c)) {
		struct recorder_confinement before = recorder_confine();
		return confined(&before, real.syscall(number, a, b, c, d, e, 0));
	}
	bool has_stepped = step_aside_for(number, a, b);
	return step_back_raw(has_stepped, real.syscall(number, a, b, c, d, e, 0));
}
