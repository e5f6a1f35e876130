/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library into a process that runs. See attach.h.
 *
 * No thread is stopped for this. All are traced, and breakpoints are put at the entries of
 * functions of libc's that programs call to wait or to read and write. The first thread that comes
 * by calls dlopen(), if it is inside of nothing that has a lock of the allocator's or the
 * loader's. The others run, and let go of whatever it needs. It was in no system call, so none is
 * interrupted.
 *
 * The tracer has to end before the program is free again, so it is a process of its own
 * (attach_processes.c). Whatever takes too long is given up. That includes the loading itself: then
 * the thread that loads goes on alone, and finds its way back (attach_back.h).
 */
#include "attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach_call.h"
#include "attach_copy.h"
#include "attach_processes.h"
#include "attach_signals.h"
#include "attach_sleeper.h"
#include "attach_stack.h"
#include "attach_symbols.h"
#include "attach_threads.h"

enum {
	HIT_MS = 1000,  /* until a thread comes by, twice */
	REST_MS = 2,    /* without breakpoints, when one came by at a bad moment */
	LOAD_MS = 3000, /* until the library is there */
	CALL_MS = 3000
};

struct attach {
	const struct attach_order *order;
	char *error;
	struct attach_threads threads;
	struct attach_symbols libc;
	struct attach_stack *stack;
	struct attach_call call;
};

static bool fail(struct attach *attach, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool fail(struct attach *attach, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(attach->error, ATTACH_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

/* --- A thread that comes by ------------------------------------------------------------------- */

static const char *const entries[] = { "epoll_wait",
				       "epoll_pwait",
				       "epoll_pwait2",
				       "poll",
				       "ppoll",
				       "select",
				       "pselect",
				       "read",
				       "readv",
				       "pread64",
				       "write",
				       "writev",
				       "pwrite64",
				       "recv",
				       "recvfrom",
				       "recvmsg",
				       "send",
				       "sendto",
				       "sendmsg",
				       "accept",
				       "accept4",
				       "connect",
				       "open",
				       "openat",
				       "close",
				       "fsync",
				       "fdatasync",
				       "nanosleep",
				       "clock_nanosleep",
				       "usleep",
				       "sleep",
				       "pthread_cond_wait",
				       "pthread_cond_timedwait",
				       "pthread_cond_clockwait",
				       "cnd_wait",
				       "sem_wait",
				       "sem_timedwait",
				       "sem_clockwait",
				       "pthread_barrier_wait",
				       "pthread_join",
				       "waitpid",
				       "wait4",
				       "sched_yield",
				       "syscall" };

/* Not where the program's own allocator may call them, or hide in them. */
static const char *const more_entries[] = {
	"pthread_mutex_lock", "pthread_mutex_unlock", "malloc", "free", "clock_gettime", "kill"
};

static void add_entry(struct attach *attach, const char *name)
{
	const struct attach_symbol *symbol = NULL;

	while ((symbol = attach_symbols_next(&attach->libc, name, symbol)))
		(void)attach_threads_add_trap(&attach->threads, symbol->address,
					      ATTACH_TRAPS_ENTRY);
}

/* 0: nobody came by at a good moment. */
static pid_t await_thread(struct attach *attach)
{
	struct attach_threads *threads = &attach->threads;

	for (int left_ms = HIT_MS; left_ms > 0 && !attach_threads_are_over(threads);
	     left_ms -= REST_MS) {
		struct user_regs_struct registers;
		struct attach_thread *held;
		int step_ms = left_ms > 100 ? 100 : left_ms;

		attach_threads_set(threads, ATTACH_TRAPS_ENTRY);
		held = attach_threads_wait(threads, step_ms);
		attach_threads_set(threads, ATTACH_TRAPS_NONE);
		if (!held) {
			left_ms -= step_ms;
			continue;
		}
		if (!held->is_child && attach_thread_get(held->tid, &registers) &&
		    attach_stack_is_safe(attach->stack, held->tid, &registers, false))
			return held->tid;
		attach_threads_go(held);
		held = attach_threads_wait(threads, REST_MS);
		if (held)
			attach_threads_go(held);
	}
	return 0;
}

static pid_t find_thread(struct attach *attach)
{
	bool may = attach_signal_may_trap(&attach->threads);
	pid_t tid;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		add_entry(attach, entries[i]);
	tid = may ? await_thread(attach) : 0;
	if (tid == 0)
		tid = attach_sleeper_find(&attach->threads, attach->stack, false);
	if (tid != 0 || attach_threads_are_over(&attach->threads))
		return tid;
	for (size_t i = 0; i < sizeof(more_entries) / sizeof(more_entries[0]); i++)
		add_entry(attach, more_entries[i]);
	if (may && !attach_has_own_allocator(&attach->threads))
		tid = await_thread(attach);
	return tid != 0 || !attach->order->may_interrupt
		       ? tid
		       : attach_sleeper_find(&attach->threads, attach->stack, true);
}

/* --- What it does ----------------------------------------------------------------------------- */

static bool call_attach(struct attach *attach)
{
	const uint64_t none[ATTACH_ARGUMENTS] = { 0 };
	struct attach_symbols own;
	uint64_t function = 0, result;

	if (attach_symbols_read(&own, attach->order->pid, attach->threads.memory, "libwcprof") ==
	    0) {
		function = attach_symbols_address(&own, "wcprof_attach");
		attach_symbols_free(&own);
	}
	if (!function || !attach_call(&attach->call, function, none, CALL_MS, &result))
		return fail(attach, "the library that it has does not answer");
	return true;
}

static void read_error(struct attach *attach)
{
	const uint64_t none[ATTACH_ARGUMENTS] = { 0 };
	uint64_t function = attach_symbols_address(&attach->libc, "dlerror"), text;
	char message[256] = "";

	if (function && attach_call(&attach->call, function, none, CALL_MS, &text) && text)
		(void)!pread(attach->threads.memory, message, sizeof(message) - 1, (off_t)text);
	(void)fail(
		attach, "its loader says: %s%s", message,
		strstr(message, "static TLS")
			? " (libraries that it has opened have used up what glibc keeps for this; "
			  "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096 at its start keeps "
			  "more)"
			: "");
}

/* Of one file, at that path. `handle`: 0 = its loader says why. */
static bool call_dlopen(struct attach *attach, const char *path, uint64_t *handle)
{
	uint64_t function = attach_symbols_address(&attach->libc, "dlopen");
	const uint64_t arguments[ATTACH_ARGUMENTS] = { attach_call_put(&attach->call, path),
						       RTLD_NOW };

	if (!function || !arguments[0])
		return fail(attach, "its libc has no dlopen");
	if (attach_call(&attach->call, function, arguments, LOAD_MS, handle))
		return true;
	if (attach->threads.fault)
		return fail(attach, "the library had a fault while it was loaded (signal %d)",
			    attach->threads.fault);
	return fail(attach,
		    "its loader has not answered for %d s: another thread of it has a lock. If "
		    "that lets go, the library will be there, unused; then try again",
		    LOAD_MS / 1000);
}

static bool open_library(struct attach *attach, const char *path)
{
	uint64_t handle = 0;

	if (!call_dlopen(attach, path, &handle))
		return false;
	if (handle == 0)
		read_error(attach);
	return handle != 0;
}

/* --- Where it does not see the library -------------------------------------------------------- */

static bool open_copy(struct attach *attach, const char *file)
{
	struct attach_copy copy;
	bool is_open;

	if (!attach_copy_begin(&attach->call, file, &copy))
		return fail(attach,
			    "it does not see %s, and takes no copy of it: it has no /proc, no "
			    "memory, or no descriptor left",
			    file);
	is_open = open_library(attach, copy.path);
	attach_copy_end(&attach->call, &copy);
	return is_open;
}

/* Each file that the library needs is the process's own, if it has one of that name. */
static bool open_needed(struct attach *attach, const char *file)
{
	uint64_t handle = 0;

	if (!call_dlopen(attach, strrchr(file, '/') + 1, &handle))
		return false;
	return handle != 0 || open_copy(attach, file);
}

/* Some need others: those that cannot be opened now may be once more of them are. */
static void open_all_needed(struct attach *attach)
{
	const struct attach_order *order = attach->order;
	bool is_open[ATTACH_NEEDED_MAX] = { false }, is_more = true;

	while (is_more) {
		is_more = false;
		for (size_t i = 0; i < order->needed_count; i++) {
			if (is_open[i] || attach->call.is_left)
				continue;
			is_open[i] = open_needed(attach, order->needed[i]);
			is_more |= is_open[i];
		}
	}
}

static bool open_copies(struct attach *attach)
{
	open_all_needed(attach);
	return !attach->call.is_left && open_copy(attach, attach->order->library);
}

static bool load_library(struct attach *attach)
{
	return attach->order->sees_library ? open_library(attach, attach->order->library)
					   : open_copies(attach);
}

static bool run_in(struct attach *attach, pid_t tid)
{
	bool is_done;

	if (!attach_call_begin(&attach->call, tid))
		return fail(attach, "it has no memory for another stack");
	is_done = attach->order->has_library ? call_attach(attach) : load_library(attach);
	attach_call_end(&attach->call);
	return is_done;
}

static bool find_and_run(struct attach *attach)
{
	pid_t tid = find_thread(attach);

	if (attach->threads.is_gone)
		return fail(attach, "it has ended, or runs another program now");
	if (tid == 0)
		return fail(attach,
			    "none of its threads came by at a good moment within %d s, and none "
			    "sleeps where it can be stopped%s",
			    2 * HIT_MS / 1000,
			    attach->order->may_interrupt ? ""
							 : " unnoticed (--interrupt: with EINTR)");
	return run_in(attach, tid);
}

static bool load(struct attach *attach)
{
	pid_t pid = attach->order->pid;
	int result = attach_threads_seize(&attach->threads, pid, attach->order->traps,
					  attach->order->end);

	if (result != 0)
		return fail(attach, "it cannot be traced: %s", strerror(-result));
	if (attach_symbols_read(&attach->libc, pid, attach->threads.memory, "libc.so.6") ||
	    !attach_call_prepare(&attach->call, &attach->threads, &attach->libc))
		return fail(attach, "its libc cannot be read");
	attach->stack = attach_stack_open(pid, attach->threads.memory);
	if (!attach->stack)
		return fail(attach, "its files cannot be read");
	attach_be_urgent();
	return find_and_run(attach);
}

bool attach_trace(const struct attach_order *order, char error[ATTACH_ERROR_BYTES])
{
	static struct attach attach;
	bool is_done;

	attach = (struct attach){ .order = order, .error = error };
	is_done = load(&attach);
	if (attach.threads.is_ended)
		is_done = fail(&attach, "interrupted");
	attach_stack_close(attach.stack);
	attach_symbols_free(&attach.libc);
	attach_threads_release(&attach.threads);
	return is_done;
}
