/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library into a process that runs. See attach.h.
 *
 * A thread that sleeps is made to call dlopen(), if the kernel goes on with its system call by
 * itself. It must be inside of nothing that has a lock of the allocator's or the loader's. The
 * others run, and let go of whatever it needs. If none sleeps so, those that run are made to stop
 * at their next system call.
 *
 * Nothing is written into the program's code, so it is not harmed whoever is killed meanwhile. The
 * tracer has to end before the program is free again, so it is a process of its own
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
#include <sys/syscall.h>
#include <unistd.h>

#include "attach_call.h"
#include "attach_copy.h"
#include "attach_processes.h"
#include "attach_sleeper.h"
#include "attach_stack.h"
#include "attach_symbols.h"
#include "attach_threads.h"
#include "tasks.h"

enum {
	SOON_MS = 50,    /* until a thread comes by, before one is taken that would rather not be */
	COME_MS = 10000, /* the same, when there is none; a busy machine lets each run seldom */
	LOOK_MS = 1,     /* between looks at what they do */
	LAST_MS = 1000,  /* for a thread to stop that is taken at last; a busy machine is slow */
	LAST_LOOK_MS = 50,
	LOAD_MS = 3000, /* until the loader makes its next system call, or is done */
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

/* At which a thread is in no function of libc's that has to be ended first. */
static bool is_good_call(uint64_t number)
{
	static const uint16_t good[] = { SYS_read,       SYS_readv,       SYS_pread64,
					 SYS_write,      SYS_writev,      SYS_pwrite64,
					 SYS_recvfrom,   SYS_recvmsg,     SYS_sendto,
					 SYS_sendmsg,    SYS_accept,      SYS_accept4,
					 SYS_connect,    SYS_openat,      SYS_close,
					 SYS_fsync,      SYS_fdatasync,   SYS_poll,
					 SYS_ppoll,      SYS_select,      SYS_pselect6,
					 SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2,
					 SYS_nanosleep,  SYS_futex,       SYS_clock_nanosleep,
					 SYS_wait4,      SYS_waitid,      SYS_sched_yield,
					 SYS_kill,       SYS_tgkill,      SYS_getpid,
					 SYS_gettid };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (good[i] == number)
			return true;
	return false;
}

static bool is_at_good_moment(struct attach *attach, pid_t tid)
{
	struct user_regs_struct registers;

	return attach_thread_get(tid, &registers) && is_good_call(registers.rax) &&
	       attach_stack_is_safe(attach->stack, tid, &registers, false);
}

static void watch_running(struct attach_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		if (task_state((uint32_t)threads->pid, (uint32_t)threads->all[i].tid) == 'R')
			attach_threads_watch(threads, &threads->all[i]);
}

/* 0: nobody came by at a good moment, or went to sleep in a way up to `most`. */
static pid_t await_thread(struct attach *attach, uint64_t timeout_ms, enum attach_sleep most)
{
	struct attach_threads *threads = &attach->threads;
	uint64_t end_ms = attach_now_ms() + timeout_ms;

	while (attach_now_ms() < end_ms && !attach_threads_are_over(threads)) {
		pid_t tid = attach_sleeper_find_new(threads, attach->stack, most);
		struct attach_thread *held;

		if (tid != 0)
			return tid;
		watch_running(threads);
		held = attach_threads_wait(threads, LOOK_MS);
		if (held && is_at_good_moment(attach, held->tid))
			return held->tid;
		if (held)
			attach_threads_go(threads, held);
	}
	return 0;
}

/* For a moment: one that was stopped too late has another chance. */
static pid_t find_at_last(struct attach *attach, enum attach_sleep sleep)
{
	uint64_t end_ms = attach_now_ms() + LAST_MS;
	pid_t tid = attach_sleeper_find(&attach->threads, attach->stack, sleep);

	while (tid == 0 && attach_now_ms() < end_ms && !attach_threads_are_over(&attach->threads)) {
		(void)attach_threads_wait(&attach->threads, LAST_LOOK_MS);
		tid = attach_sleeper_find(&attach->threads, attach->stack, sleep);
	}
	return tid;
}

static pid_t find_thread(struct attach *attach)
{
	struct attach_threads *threads = &attach->threads;
	pid_t tid = attach_sleeper_find(threads, attach->stack, ATTACH_SLEEP_PLAIN);

	if (tid == 0)
		tid = attach_sleeper_find(threads, attach->stack, ATTACH_SLEEP_AGAIN);
	if (tid == 0)
		tid = await_thread(attach, SOON_MS, ATTACH_SLEEP_AGAIN);
	if (tid == 0)
		tid = attach_sleeper_find(threads, attach->stack, ATTACH_SLEEP_TIMED);
	if (tid == 0)
		tid = await_thread(attach, COME_MS, ATTACH_SLEEP_TIMED);
	threads->is_watching = false;
	if (tid == 0)
		tid = find_at_last(attach, ATTACH_SLEEP_LOCK);
	if (tid == 0 && attach->order->may_interrupt)
		tid = find_at_last(attach, ATTACH_SLEEP_LIMITED);
	return tid;
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
	uint64_t begun_ms = attach_now_ms();

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
		    (int)((attach_now_ms() - begun_ms) / 1000));
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
			    COME_MS / 1000,
			    attach->order->may_interrupt ? ""
							 : " unnoticed (--interrupt: with EINTR)");
	return run_in(attach, tid);
}

static bool load(struct attach *attach)
{
	pid_t pid = attach->order->pid;
	int result = attach_threads_seize(&attach->threads, pid, attach->order->end);

	if (result != 0)
		return fail(attach, "it cannot be traced: %s", strerror(-result));
	if (attach_symbols_read(&attach->libc, pid, attach->threads.memory, "libc.so.6") ||
	    !attach_call_prepare(&attach->call, &attach->threads, &attach->libc))
		return fail(attach, "its libc cannot be read");
	/* It may have begun just now, and mapped that since the last look. */
	if (!attach_may_exit(pid, attach->error))
		return false;
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
