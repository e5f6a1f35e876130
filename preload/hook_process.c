/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children made by fork and spawn, and the waits for their ends.
 *
 * A wait that finds an ended child writes the child's op, whoever started it, and has it as target.
 * A status is always asked for, in a place of ours if the program gives none. The child of fork()
 * does nothing here: the recorder's own handler has run in it already, or the wiped gate tells it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "children.h"

static int error_of(int result)
{
	return result < 0 ? errno : 0;
}

pid_t hook_fork(void)
{
	struct child_start child;
	child_announce(&child, CALL_fork, CALLER);
	bool is_again = false;
	pid_t pid;
	do
		pid = real.fork();
	while (hooks_try_again(&is_again, error_of(pid)));
	if (pid > 0)
		child_begin(&child, pid);
	return pid;
}

pid_t hook___fork(void)
{
	struct child_start child;
	child_announce(&child, CALL_fork, CALLER);
	bool is_again = false;
	pid_t pid;
	do
		pid = real.__fork();
	while (hooks_try_again(&is_again, error_of(pid)));
	if (pid > 0)
		child_begin(&child, pid);
	return pid;
}

/* No handlers run around it. */
pid_t hook__Fork(void)
{
	struct child_start child;
	child_announce(&child, CALL__Fork, CALLER);
	bool is_again = false;
	pid_t pid;
	do
		pid = real._Fork();
	while (hooks_try_again(&is_again, error_of(pid)));
	if (pid > 0)
		child_begin(&child, pid);
	return pid;
}

pid_t hook_forkpty(int *terminal, char *name, const struct termios *modes,
		   const struct winsize *size)
{
	struct child_start child;
	child_announce(&child, CALL_forkpty, CALLER);
	bool is_again = false;
	pid_t pid;
	do
		pid = real.forkpty(terminal, name, modes, size);
	while (hooks_try_again(&is_again, error_of(pid)));
	if (pid > 0) {
		descriptor_forget(*terminal);
		child_begin(&child, pid);
	}
	return pid;
}

/* This process ends inside libc, and its child goes on. */
int hook_daemon(int keeps_directory, int keeps_output)
{
	recorder_image_ends(END_EXEC);
	bool is_again = false;
	int result;
	do
		result = real.daemon(keeps_directory, keeps_output);
	while (hooks_try_again(&is_again, error_of(result)));
	return result;
}

/*
 * A child with memory of its own is one like fork()'s. A child that shares its parent's memory, and
 * runs beside it with the same thread-local storage, would write into the same record. So the
 * parent's thread is not recorded from here on, and its calls are counted.
 */
int hook_clone(int (*routine)(void *), void *stack, int flags, void *argument, pid_t *parent_tid,
	       void *tls, pid_t *child_tid)
{
	struct child_start child = { .op = 0 };
	if (!(flags & CLONE_VM) && !recorder_is_off())
		child_announce(&child, CALL_clone, CALLER);
	if (!(flags & CLONE_VM))
		recorder_clone_begins();
	if ((flags & CLONE_VM) && !(flags & (CLONE_SETTLS | CLONE_VFORK)))
		thread_end();
	bool is_vfork = (flags & CLONE_VM) && (flags & CLONE_VFORK) && !(flags & CLONE_SETTLS) &&
			recorder_vfork_begins();
	bool is_again = false;
	int pid;
	do
		pid = real.clone(routine, stack, flags, argument, parent_tid, tls, child_tid);
	while (hooks_try_again(&is_again, error_of(pid)));
	if (is_vfork)
		recorder_vfork_ends();
	if (!(flags & CLONE_VM))
		recorder_clone_ends();
	if (pid > 0 && child.op)
		child_begin(&child, pid);
	return pid;
}

/* --- Spawning --- */

typedef int spawn_call(pid_t *, const char *, const posix_spawn_file_actions_t *,
		       const posix_spawnattr_t *, char *const[], char *const[]);

struct spawn {
	pid_t *pid;
	const char *path;
	bool is_searched;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
	char *const *argv;
	char *const *envp;
};

static uint32_t base_name(const char *path)
{
	size_t begin = 0;
	size_t end = 0;
	for (; path[end]; end++)
		if (path[end] == '/')
			begin = end + 1;
	return string_intern(path + begin, end - begin);
}

/* The class is known only after the call: a path that cannot be read is libc's to refuse. */
static int spawn(spawn_call *call, const struct spawn *what, struct caller caller)
{
	struct child_start child;
	pid_t pid = 0;
	recorder_program_starts(&(struct program_start){ what->path, AT_FDCWD, what->is_searched,
							 what->envp, false });
	child_announce(&child, 0, caller);
	bool is_again = false;
	int error;
	do
		error = call(&pid, what->path, what->actions, what->attributes, what->argv,
			     what->envp);
	while (hooks_try_again(&is_again, error));
	if (error != 0)
		return error;
	if (what->pid)
		*what->pid = pid;
	child.name = base_name(what->path);
	child_begin(&child, pid);
	return 0;
}

#define SPAWN_HOOK(id, is_searched)                                                                \
	int hook_##id(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,     \
		      const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) \
	{                                                                                          \
		struct spawn what = { pid, path, is_searched, actions, attributes, argv, envp };   \
		return spawn(real.id, &what, CALLER);                                              \
	}

SPAWN_HOOK(posix_spawn, false)
SPAWN_HOOK(posix_spawn_old, false)
SPAWN_HOOK(posix_spawnp, true)
SPAWN_HOOK(posix_spawnp_old, true)

/* --- Waiting for children --- */

struct child_wait {
	uint64_t handle;
	pid_t asked; /* for which child, 0 = for any */
	enum call call;
	pid_t pid;       /* waited for and found; 0 = none */
	bool has_ended;  /* not only stopped or continued */
	int exit_status; /* 0 = success */
};

static void child_wait_begin(struct child_wait *wait, enum call call, pid_t pid, bool is_blocking,
			     struct caller caller)
{
	*wait = (struct child_wait){ .asked = pid > 0 ? pid : 0, .call = call };
	struct self *self = is_blocking ? hook_enter() : NULL;
	if (!self)
		return;
	wait->handle = wait_begin(self, REASON_EXEC, call, child_key(wait->asked), 0,
				  caller_stack(self, caller), caller.frame);
	self_leave(self);
}

static uint64_t child_end(struct self *self, const struct child_wait *wait)
{
	struct watch *watch = watch_find(child_key(wait->pid));
	if (!watch || watch->type != WATCH_CHILD)
		return 0;
	if (!wait->has_ended)
		return watch_child_op(watch);
	return watch_end_child(self, watch, wait->exit_status ? OUTCOME_ERROR : OUTCOME_OK,
			       (uint64_t)wait->exit_status, clock_ticks());
}

/* Also when a cancellation unwinds through the wait. A status that was there took no time. */
static void child_wait_end(struct child_wait *wait)
{
	if (!wait->handle && wait->pid <= 0)
		return;
	struct self *self = hook_enter();
	if (!self)
		return;
	uint64_t op = wait->pid > 0 ? child_end(self, wait) : 0;
	if (wait->handle)
		wait_end(self, wait->handle, op, 0);
	else if (op && wait->has_ended)
		wait_met(self, REASON_EXEC, wait->call, child_key(wait->asked), 0, op);
	self_leave(self);
}

#define CHILD_WAIT __attribute__((cleanup(child_wait_end))) struct child_wait

static pid_t finished(struct child_wait *wait, pid_t pid, int status)
{
	if (pid <= 0)
		return pid;
	wait->pid = pid;
	wait->has_ended = WIFEXITED(status) || WIFSIGNALED(status);
	wait->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return pid;
}

pid_t hook_waitpid(pid_t pid, int *status, int options)
{
	CHILD_WAIT wait;
	int own = 0;
	int *place = status ? status : &own;
	child_wait_begin(&wait, CALL_waitpid, pid, !(options & WNOHANG), CALLER);
	pid_t found = real.waitpid(pid, place, options);
	return finished(&wait, found, found > 0 ? *place : 0);
}

pid_t hook___waitpid(pid_t pid, int *status, int options)
{
	CHILD_WAIT wait;
	int own = 0;
	int *place = status ? status : &own;
	child_wait_begin(&wait, CALL_waitpid, pid, !(options & WNOHANG), CALLER);
	pid_t found = real.__waitpid(pid, place, options);
	return finished(&wait, found, found > 0 ? *place : 0);
}

pid_t hook_wait(int *status)
{
	CHILD_WAIT wait;
	int own = 0;
	int *place = status ? status : &own;
	child_wait_begin(&wait, CALL_wait, -1, true, CALLER);
	pid_t found = real.wait(place);
	return finished(&wait, found, found > 0 ? *place : 0);
}

pid_t hook___wait(int *status)
{
	CHILD_WAIT wait;
	int own = 0;
	int *place = status ? status : &own;
	child_wait_begin(&wait, CALL_wait, -1, true, CALLER);
	pid_t found = real.__wait(place);
	return finished(&wait, found, found > 0 ? *place : 0);
}

pid_t hook_wait3(int *status, int options, struct rusage *usage)
{
	CHILD_WAIT wait;
	int own = 0;
	int *place = status ? status : &own;
	child_wait_begin(&wait, CALL_wait3, -1, !(options & WNOHANG), CALLER);
	pid_t found = real.wait3(place, options, usage);
	return finished(&wait, found, found > 0 ? *place : 0);
}

pid_t hook_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	CHILD_WAIT wait;
	int own = 0;
	int *place = status ? status : &own;
	child_wait_begin(&wait, CALL_wait4, pid, !(options & WNOHANG), CALLER);
	pid_t found = real.wait4(pid, place, options, usage);
	return finished(&wait, found, found > 0 ? *place : 0);
}

int hook_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	CHILD_WAIT wait;
	siginfo_t own = { 0 };
	siginfo_t *place = info ? info : &own;
	child_wait_begin(&wait, CALL_waitid, type == P_PID ? (pid_t)id : -1, !(options & WNOHANG),
			 CALLER);
	int result = real.waitid(type, id, place, options);
	if (result != 0 || place->si_pid <= 0)
		return result;
	wait.pid = place->si_pid;
	wait.has_ended = !(options & WNOWAIT) &&
			 (place->si_code == CLD_EXITED || place->si_code == CLD_KILLED ||
			  place->si_code == CLD_DUMPED);
	wait.exit_status = place->si_code == CLD_EXITED ? place->si_status : 128 + place->si_status;
	return result;
}

/* The shell's pid stays libc's secret: an op without a link. */
/* A shell that could not be started looks like one that ended with 127, but for errno. */
static int run_shell(const char *command)
{
	bool is_again = false;
	int before = errno;
	int status;
	do {
		errno = 0;
		status = real.system(command);
	} while (hooks_try_again(&is_again, W_EXITCODE(127, 0) == status ? errno : 0));
	errno = errno ? errno : before;
	return status;
}

int hook_system(const char *command)
{
	struct caller caller = CALLER;
	struct self *self = hook_enter();
	uint64_t op = 0;
	if (self) {
		op = op_begin(self, KIND_EXEC, CALL_system, 0, -1, caller_stack(self, caller),
			      caller.frame);
		self_leave(self);
	}
	recorder_program_starts(
		&(struct program_start){ "/bin/sh", AT_FDCWD, false, environ, false });
	int status = run_shell(command);
	self = hook_enter_end(op, false);
	if (self) {
		op_end(self, op, status == 0 ? OUTCOME_OK : OUTCOME_ERROR, 0);
		self_leave(self);
	}
	return status;
}

/* --- Streams to a shell --- */

/*
 * libc keeps the shell's pid behind the stream and the pointer to its functions; whether what is
 * there is a child, the kernel says. 0: it is not.
 */
static pid_t shell_of(const FILE *stream)
{
	pid_t pid = *(const pid_t *)((const char *)stream + sizeof(FILE) + sizeof(void *));
	long result =
		pid > 0 ? real.syscall(SYS_waitid, P_PID, pid, 0, WEXITED | WNOHANG | WNOWAIT, 0, 0)
			: -1;
	return result == 0 ? pid : 0;
}

/* Whatever keeps libc from starting the shell, it says that there is no memory. */
static FILE *open_shell(const char *command, const char *mode)
{
	bool is_again = false;
	FILE *stream;
	do
		stream = real.popen(command, mode);
	while (hooks_try_again(&is_again, stream ? 0 : errno == ENOMEM ? EAGAIN : errno));
	return stream;
}

FILE *hook_popen(const char *command, const char *mode)
{
	struct child_start child;
	recorder_program_starts(
		&(struct program_start){ "/bin/sh", AT_FDCWD, false, environ, false });
	child_announce(&child, CALL_popen, CALLER);
	FILE *stream = open_shell(command, mode);
	if (!stream)
		return NULL;
	descriptor_forget(stream->_fileno);
	int error = errno;
	pid_t pid = shell_of(stream);
	errno = error;
	if (pid > 0)
		child_begin(&child, pid);
	return stream;
}

int hook_pclose(FILE *stream)
{
	CHILD_WAIT wait;
	int error = errno;
	pid_t pid = shell_of(stream);
	hooks_stream_ends(stream, CALLER);
	errno = error;
	child_wait_begin(&wait, CALL_pclose, pid, true, CALLER);
	int status = real.pclose(stream);
	if (status != -1)
		finished(&wait, pid, status);
	return status;
}
