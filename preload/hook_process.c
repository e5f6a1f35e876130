/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children: an op from fork or spawn until the parent has waited for the end.
 *
 * The op's id is reserved at the start and kept in a watch keyed by the child's pid; whoever waits for
 * that pid writes it. The link to the child's own recording is "PID:START", START being the child's start
 * in the kernel's clock ticks since boot, which the child finds in its own /proc/self/stat. Here it is
 * read off the clock around the call; only where a tick passed meanwhile is the child's stat read.
 *
 * The child of fork() does nothing here: the recorder's own handler has run in it already.
 * Known race: a SIGCHLD handler that waits for the child before fork() has returned finds no watch; that
 * child's op stays open.
 */
#include <fcntl.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "hooks.h"

/* USER_HZ: what /proc counts in, on every architecture that we build for. */
enum { TICK_NS = 10000000 };

struct child_start {
	uint64_t op;
	uint64_t parent_op;
	uint64_t ticks;     /* of the recorder's clock */
	uint64_t boot_tick; /* of the kernel's, before the call */
	uint32_t stack;
	uint32_t name;
};

static uint64_t boot_tick(void)
{
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec) / TICK_NS;
}

static void child_announce(struct child_start *child, uint32_t name, struct caller caller)
{
	*child = (struct child_start){ .name = name };
	struct self *self = hook_enter();
	if (!self)
		return;
	child->op = op_reserve(self);
	child->parent_op = op_current(self);
	child->stack = caller_stack(self, caller);
	child->ticks = clock_ticks();
	child->boot_tick = boot_tick();
	self_leave(self);
}

static char *put_number(char *end, uint64_t number)
{
	do
		*--end = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	return end;
}

/* Field 22 of /proc/PID/stat; 0 if it cannot be had. The name in field 2 may contain anything. */
static uint64_t start_of(pid_t pid)
{
	char path[40] = "";
	char text[512];
	char *at = path + sizeof(path) - sizeof("/stat");
	__builtin_memcpy(at, "/stat", sizeof("/stat"));
	at = put_number(at, (uint64_t)pid) - 6;
	__builtin_memcpy(at, "/proc/", 6);

	long fd = real.syscall(SYS_openat, AT_FDCWD, (long)at, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return 0;
	long size = real.syscall(SYS_read, fd, (long)text, sizeof(text) - 1, 0, 0, 0);
	real.syscall(SYS_close, fd, 0, 0, 0, 0, 0);

	long i = size;
	while (i > 0 && text[i - 1] != ')')
		i--;
	int field = 2;
	uint64_t start = 0;
	for (; i > 0 && i < size && field <= 22; i++) {
		if (text[i] == ' ')
			field++;
		else if (field == 22)
			start = start * 10 + (uint64_t)(text[i] - '0');
	}
	return start;
}

static uint32_t client_ident(pid_t pid, uint64_t start)
{
	char text[48];
	char *end = text + sizeof(text);
	char *at = put_number(end, start);
	*--at = ':';
	at = put_number(at, (uint64_t)pid);
	return string_intern(at, (size_t)(end - at));
}

static const void *child_key(pid_t pid)
{
	return (const void *)(uintptr_t)pid;
}

/* In the parent, when there is a child. */
static void child_begin(const struct child_start *child, pid_t pid)
{
	struct self *self = child->op ? hook_enter() : NULL;
	if (!self)
		return;
	uint64_t start = boot_tick();
	if (start != child->boot_tick)
		start = start_of(pid);
	uint32_t ident = start ? client_ident(pid, start) : 0;
	watch_forget(child_key(pid));
	struct watch *watch = watch_get(self, child_key(pid), WATCH_CHILD);
	if (watch) {
		watch->holder_parent = child->parent_op;
		watch->holder_start = child->ticks;
		watch->holder_stack = child->stack;
		watch->ident = ident;
		watch->initial = child->name;
		__atomic_store_n(&watch->holder_op, child->op, __ATOMIC_RELEASE);
	}
	link_record(self, LINK_NESTED_CLIENT, child->op, NULL, ident, 0);
	self_leave(self);
}

pid_t hook_fork(void)
{
	struct child_start child;
	child_announce(&child, CALL_fork, CALLER);
	pid_t pid = real.fork();
	if (pid > 0)
		child_begin(&child, pid);
	return pid;
}

pid_t hook___fork(void)
{
	struct child_start child;
	child_announce(&child, CALL_fork, CALLER);
	pid_t pid = real.__fork();
	if (pid > 0)
		child_begin(&child, pid);
	return pid;
}

/* --- Spawning --- */

typedef int spawn_call(pid_t *, const char *, const posix_spawn_file_actions_t *,
		       const posix_spawnattr_t *, char *const[], char *const[]);

struct spawn {
	pid_t *pid;
	const char *path;
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
	child_announce(&child, 0, caller);
	int error = call(&pid, what->path, what->actions, what->attributes, what->argv, what->envp);
	if (error != 0)
		return error;
	if (what->pid)
		*what->pid = pid;
	child.name = base_name(what->path);
	child_begin(&child, pid);
	return 0;
}

#define SPAWN_HOOK(id)                                                                              \
	int hook_##id(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,      \
		      const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])  \
	{                                                                                           \
		struct spawn what = { pid, path, actions, attributes, argv, envp };                 \
		return spawn(real.id, &what, CALLER);                                               \
	}

SPAWN_HOOK(posix_spawn)
SPAWN_HOOK(posix_spawn_old)
SPAWN_HOOK(posix_spawnp)
SPAWN_HOOK(posix_spawnp_old)

/* --- Waiting for children --- */

struct child_wait {
	uint64_t handle;
	pid_t pid;       /* waited for and found; 0 = none */
	bool has_ended;  /* not only stopped or continued */
	int exit_status; /* 0 = success */
};

static void child_wait_begin(struct child_wait *wait, enum call call, pid_t pid, bool is_blocking,
			     struct caller caller)
{
	*wait = (struct child_wait){ .pid = 0 };
	struct self *self = is_blocking ? hook_enter() : NULL;
	if (!self)
		return;
	wait->handle = wait_begin(self, REASON_EXEC, call, child_key(pid > 0 ? pid : 0), 0,
				  caller_stack(self, caller), caller.frame);
	self_leave(self);
}

static uint64_t child_end(struct self *self, const struct child_wait *wait)
{
	struct watch *watch = watch_find(child_key(wait->pid));
	if (!watch || watch->type != WATCH_CHILD)
		return 0;
	/* Taken by exchange: of two threads that wait, one writes the op. */
	uint64_t op = wait->has_ended ? __atomic_exchange_n(&watch->holder_op, 0, __ATOMIC_ACQ_REL) :
					watch->holder_op;
	if (op && wait->has_ended) {
		op_record(self, op, watch->holder_parent, KIND_EXEC, watch->initial, watch->ident,
			  watch->holder_start, wait->exit_status ? OUTCOME_ERROR : OUTCOME_OK,
			  (uint64_t)wait->exit_status, watch->holder_stack);
		watch_forget(child_key(wait->pid));
	}
	return op;
}

/* Also when a cancellation unwinds through the wait. */
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

/* A status is always asked for; the program's own place is used where it gives one. */
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
	int status = real.system(command);
	self = op ? hook_enter() : NULL;
	if (self) {
		op_end(self, op, status == 0 ? OUTCOME_OK : OUTCOME_ERROR, 0);
		self_leave(self);
	}
	return status;
}
