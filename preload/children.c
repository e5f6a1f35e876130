/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children from their start until somebody has waited for them.
 *
 * A child's op has its id reserved before the start and is kept in a watch keyed by the child's
 * pid. The thread that waits for that pid writes it. The link to the child's own recording is
 * "PID:START". START is the child's start in the kernel's clock ticks since boot; the child finds
 * it in its own /proc/self/stat. Here it is read off the clock around the call; only where a tick
 * passed meanwhile is the child's stat read.
 *
 * Known race: a SIGCHLD handler that waits for the child before fork() has returned finds no watch;
 * that child's op stays open.
 */
#include "children.h"

#include <fcntl.h>
#include <sys/syscall.h>

/* USER_HZ: what /proc counts in, on every architecture that we build for. */
enum { TICK_NS = 10000000 };

static uint64_t boot_tick(void)
{
	return recorder_clock_ns(CLOCK_BOOTTIME) / TICK_NS;
}

void child_announce(struct child_start *child, uint32_t name, struct caller caller)
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

enum { START_FIELD = 22, NAME_FIELD = 2 };

/* Goes on reading a stat: which field it has come to, and the start's digits so far. The name in
 * field 2 may contain anything; the last parenthesis ends it. */
static void read_stat(const char *text, long size, int *field, uint64_t *start)
{
	for (long i = 0; i < size; i++) {
		if (text[i] == ')') {
			*field = NAME_FIELD;
			*start = 0;
		} else if (text[i] == ' ') {
			++*field;
		} else if (*field == START_FIELD) {
			*start = *start * 10 + (uint64_t)(text[i] - '0');
		}
	}
}

/* Field 22 of /proc/PID/stat; 0 if it cannot be had. In pieces, and by itself: the
 * stack may be small. */
static __attribute__((noinline)) uint64_t start_of(pid_t pid)
{
	char path[40] = "";
	char text[96];
	int field = 0;
	uint64_t start = 0;
	long size;
	char *at = path + sizeof(path) - sizeof("/stat");
	__builtin_memcpy(at, "/stat", sizeof("/stat"));
	at = put_number(at, (uint64_t)pid) - 6;
	__builtin_memcpy(at, "/proc/", 6);

	long fd = real.syscall(SYS_openat, AT_FDCWD, (long)at, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return 0;
	while ((size = real.syscall(SYS_read, fd, (long)text, sizeof(text), 0, 0, 0)) > 0)
		read_stat(text, size, &field, &start);
	real.syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	return start;
}

static __attribute__((noinline)) uint32_t client_ident(pid_t pid, uint64_t start)
{
	char text[48];
	char *end = text + sizeof(text);
	char *at = put_number(end, start);
	*--at = ':';
	at = put_number(at, (uint64_t)pid);
	return string_intern(at, (size_t)(end - at));
}

const void *child_key(pid_t pid)
{
	return (const void *)(uintptr_t)pid;
}

/* In the parent, when there is a child. */
void child_begin(const struct child_start *child, pid_t pid)
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
