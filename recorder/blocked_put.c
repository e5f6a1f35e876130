/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocked threads as JSON. See blocked.h.
 *
 * Members that have nothing to say are left out. Addresses are numbers: names for them are found by
 * whoever reads this, from the process's files.
 */
#include "blocked.h"

#include "fields.h"
#include "strings.h"
#include "syscalls.h"

#include "in_target.h"

static const char *const reason_words[] = {
#define REASON(number, name, word, meaning) [number] = word,
#include "events.def"
};

/* System calls in which threads are found for long; those by whose first argument is a
 * descriptor. */
static const struct system_call {
	int32_t number;
	bool has_fd;
	const char *name;
} system_calls[] = {
	{ SYS_read, true, "read" },
	{ SYS_write, true, "write" },
	{ SYS_pread64, true, "pread64" },
	{ SYS_pwrite64, true, "pwrite64" },
	{ SYS_readv, true, "readv" },
	{ SYS_writev, true, "writev" },
	{ SYS_poll, false, "poll" },
	{ SYS_ppoll, false, "ppoll" },
	{ SYS_select, false, "select" },
	{ SYS_pselect6, false, "pselect6" },
	{ SYS_epoll_wait, true, "epoll_wait" },
	{ SYS_epoll_pwait, true, "epoll_pwait" },
	{ SYS_epoll_pwait2, true, "epoll_pwait2" },
	{ SYS_pause, false, "pause" },
	{ SYS_nanosleep, false, "nanosleep" },
	{ SYS_clock_nanosleep, false, "clock_nanosleep" },
	{ SYS_connect, true, "connect" },
	{ SYS_accept, true, "accept" },
	{ SYS_accept4, true, "accept4" },
	{ SYS_sendto, true, "sendto" },
	{ SYS_sendmsg, true, "sendmsg" },
	{ SYS_recvfrom, true, "recvfrom" },
	{ SYS_recvmsg, true, "recvmsg" },
	{ SYS_recvmmsg, true, "recvmmsg" },
	{ SYS_wait4, false, "wait4" },
	{ SYS_waitid, false, "waitid" },
	{ SYS_flock, true, "flock" },
	{ SYS_fcntl, true, "fcntl" },
	{ SYS_fsync, true, "fsync" },
	{ SYS_fdatasync, true, "fdatasync" },
	{ SYS_futex, false, "futex" },
	{ SYS_restart_syscall, false, "restart_syscall" },
	{ SYS_rt_sigtimedwait, false, "rt_sigtimedwait" },
	{ SYS_rt_sigsuspend, false, "rt_sigsuspend" },
	{ SYS_msgrcv, false, "msgrcv" },
	{ SYS_msgsnd, false, "msgsnd" },
	{ SYS_semop, false, "semop" },
	{ SYS_semtimedop, false, "semtimedop" },
	{ SYS_io_getevents, false, "io_getevents" },
	{ SYS_io_uring_enter, true, "io_uring_enter" },
};

static const struct system_call *find_call(int32_t number)
{
	for (size_t i = 0; i < sizeof(system_calls) / sizeof(system_calls[0]); i++)
		if (system_calls[i].number == number)
			return &system_calls[i];
	return NULL;
}

static void put_number(struct text *text, const char *key, uint64_t value)
{
	if (value == 0)
		return;
	text_put_key(text, key);
	text_put_u64(text, value);
}

static void put_string(struct text *text, const char *key, const char *value, size_t bytes)
{
	if (bytes == 0)
		return;
	text_put_key(text, key);
	text_put_json(text, value, bytes);
}

static void put_interned(struct text *text, const char *key, const struct arena *arena, uint32_t id)
{
	uint32_t bytes;
	const char *string = arena ? strings_get(arena, id, &bytes) : NULL;

	if (string)
		put_string(text, key, string, bytes);
}

static void put_fd(struct text *text, int32_t fd)
{
	if (fd < 0)
		return;
	text_put_key(text, "fd");
	text_put_i64(text, fd);
}

/* The open record of a thread. */
static void put_open(struct text *text, const struct arena *arena, const struct record *on)
{
	put_interned(text, "call", arena, on->name);
	put_interned(text, "what", arena, on->ident);
	if (on->type != RECORD_WAIT) {
		put_fd(text, field_descriptor(on));
		return;
	}
	if (on->what < sizeof(reason_words) / sizeof(reason_words[0]) && reason_words[on->what])
		put_string(text, "reason", reason_words[on->what], strlen(reason_words[on->what]));
	if (on->what != REASON_JOIN && on->what != REASON_EXEC)
		put_number(text, "address", on->value);
}

static void put_system_call(struct text *text, const struct blocked_thread *thread)
{
	const struct system_call *call = find_call(thread->call);
	char number[32];
	struct text name = { .bytes = number, .size = sizeof(number) };

	text_put_literal(&name, "syscall ");
	text_put_u64(&name, (uint64_t)thread->call);
	if (call)
		put_string(text, "system_call", call->name, strlen(call->name));
	else
		put_string(text, "system_call", number, name.used);
	if (call && call->has_fd && thread->on.type == RECORD_NONE)
		put_fd(text, (int32_t)thread->argument);
}

static void put_thread(struct text *text, const struct arena *arena,
		       const struct blocked_thread *thread)
{
	text_put_literal(text, "{\"tid\":");
	text_put_u64(text, thread->tid);
	put_string(text, "name", thread->name, strlen(thread->name));
	put_string(text, "state", &thread->state, 1);
	if (thread->on.type != RECORD_NONE)
		put_open(text, arena, &thread->on);
	if (thread->call >= 0)
		put_system_call(text, thread);
	put_number(text, "wait_ns", thread->wait_ns);
	put_number(text, "holder", thread->holder);
	put_number(text, "held_ns", thread->held_ns);
	text_put_key(text, "stack");
	for (uint32_t i = 0; i < thread->frame_count; i++) {
		text_put(text, i ? "," : "[");
		text_put_u64(text, thread->frames[i]);
	}
	text_put(text, thread->frame_count ? "]}" : "[]}");
}

static void put_circles(struct text *text, const struct blocked_list *list)
{
	bool is_first = true;

	for (uint32_t i = 0; i < list->count; i++) {
		uint32_t found = blocked_circle(list, i);

		if (found == 0)
			continue;
		text_put(text, is_first ? "[" : ",[");
		for (uint32_t k = 0; k < found; k++) {
			text_put(text, k ? "," : "");
			text_put_u64(text, list->threads[list->members[k]].tid);
		}
		text_put_literal(text, "]");
		is_first = false;
	}
}

void blocked_put(struct text *text, const struct blocked_list *list)
{
	text_put_literal(text, "\"threads\":[");
	for (uint32_t i = 0; i < list->count; i++) {
		text_put(text, i ? "," : "");
		put_thread(text, list->arena, &list->threads[i]);
	}
	text_put_literal(text, "],\"deadlocks\":[");
	put_circles(text, list);
	text_put_literal(text, "]");
}
