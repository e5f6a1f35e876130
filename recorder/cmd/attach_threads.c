/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads of a process, traced but not stopped. See attach_threads.h.
 *
 * Nobody is stopped to be traced, so no system call of the program's is interrupted. Threads and
 * children that begin stop by themselves, and so do signals on their way: all these go on at once.
 * A thread that hits a breakpoint was at the entry of a function, in no system call.
 *
 * A child of fork() has copies of the breakpoints: they are taken out before it runs. One of
 * vfork() runs in the same memory, and stays traced until it executes a program. To take the
 * breakpoints out of the memory is not enough at the end: a thread may have hit one, and not have
 * stopped yet. Its signal would kill the program. So each is looked at until it was seen in a
 * system call, or has run for longer than the way into a stop takes.
 */
#include "attach_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach_signals.h"
#include "attach_traps.h"
#include "procfs.h"
#include "tasks.h"

enum {
	PASSES_MAX = 100, /* over the list of threads, until none is new */
	LOOK_MS = 1,
	/* From a breakpoint to the stop the kernel takes some microseconds of CPU time. */
	CLEAR_NS = 1000000
};

#define OPTIONS \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)

/* --- The list --------------------------------------------------------------------------------- */

static struct attach_thread *find(const struct attach_threads *threads, pid_t tid)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->all[i].tid == tid)
			return &threads->all[i];
	return NULL;
}

static struct attach_thread *add(struct attach_threads *threads, pid_t tid)
{
	struct attach_thread *grown = find(threads, tid);

	if (grown)
		return grown;
	if ((threads->count & (threads->count + 1)) == 0) {
		grown = realloc(threads->all, 2 * (threads->count + 1) * sizeof(*grown));
		if (!grown)
			abort();
		threads->all = grown;
	}
	threads->all[threads->count] = (struct attach_thread){ .tid = tid, .is_clear = true };
	return &threads->all[threads->count++];
}

static void drop(struct attach_threads *threads, pid_t tid)
{
	struct attach_thread *thread = find(threads, tid);

	if (thread)
		*thread = threads->all[--threads->count];
}

struct seizing {
	struct attach_threads *threads;
	int result;
	bool is_new;
};

static void seize_one(uint32_t tid, void *context)
{
	struct seizing *seizing = context;
	struct attach_thread *thread;

	if (find(seizing->threads, (pid_t)tid))
		return;
	seizing->is_new = true;
	if (ptrace(PTRACE_SEIZE, tid, 0, OPTIONS) != 0) {
		/* It has ended, or another one, that is traced, has made it. */
		if (errno != ESRCH && seizing->result == 0 && seizing->threads->count == 0)
			seizing->result = -errno;
		return;
	}
	thread = add(seizing->threads, (pid_t)tid);
	thread->is_born = true;
}

int attach_threads_seize(struct attach_threads *threads, pid_t pid, struct attach_trap_table *traps,
			 int end)
{
	struct seizing seizing = { .threads = threads };
	char path[64];

	*threads = (struct attach_threads){ .pid = pid, .traps = traps, .end = end };
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	threads->memory = open(path, O_RDWR | O_CLOEXEC);
	if (threads->memory < 0)
		return -errno;
	for (int i = 0; i < PASSES_MAX; i++) {
		seizing.is_new = false;
		if (!tasks_see((uint32_t)pid, seize_one, &seizing))
			return -ESRCH;
		if (seizing.result != 0 || !seizing.is_new)
			break;
	}
	return threads->count == 0 && seizing.result == 0 ? -ESRCH : seizing.result;
}

/* --- Breakpoints ------------------------------------------------------------------------------ */

static void note_mask(uint32_t tid, void *context)
{
	struct attach_threads *threads = context;
	struct attach_thread *thread = find(threads, (pid_t)tid);

	if (thread)
		thread->blocks_trap = task_blocks_signal((uint32_t)threads->pid, tid, SIGTRAP);
}

void attach_threads_set(struct attach_threads *threads, enum attach_traps which)
{
	if (threads->is_gone)
		return;
	if (which == ATTACH_TRAPS_ENTRY)
		(void)tasks_see((uint32_t)threads->pid, note_mask, threads);
	attach_traps_write(threads->traps, threads->memory, which);
}

/* Whether it stopped in a breakpoint of ours; then it is before that again. */
static bool step_back(const struct attach_threads *threads, pid_t tid)
{
	struct user_regs_struct registers;
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) != 0 || info.si_code != SI_KERNEL ||
	    !attach_thread_get(tid, &registers) ||
	    !attach_traps_at(threads->traps, registers.rip - 1))
		return false;
	registers.rip--;
	registers.orig_rax = UINT64_MAX;
	return attach_thread_set(tid, &registers);
}

void attach_threads_go(struct attach_thread *thread)
{
	thread->is_held = false;
	(void)ptrace(PTRACE_CONT, thread->tid, 0, 0);
}

/* --- What happens ----------------------------------------------------------------------------- */

static void free_child(const struct attach_threads *threads, pid_t child)
{
	char path[64];
	int memory;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)child);
	memory = open(path, O_RDWR | O_CLOEXEC);
	if (memory >= 0) {
		attach_traps_write(threads->traps, memory, ATTACH_TRAPS_NONE);
		close(memory);
	}
	(void)ptrace(PTRACE_DETACH, child, 0, 0);
}

static bool is_thread_of(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return access(path, F_OK) == 0;
}

/* The first stop of what has begun: of a process it is known from its parent which kind it is. */
static void on_birth(struct attach_threads *threads, struct attach_thread *thread)
{
	if (thread->is_child || is_thread_of(threads->pid, thread->tid)) {
		thread->is_born = true;
		attach_threads_go(thread);
	} else {
		thread->is_held = true;
	}
}

static void on_new(struct attach_threads *threads, pid_t parent, int event)
{
	unsigned long message = 0;
	struct attach_thread *thread;

	if (ptrace(PTRACE_GETEVENTMSG, parent, 0, &message) != 0)
		return;
	thread = find(threads, (pid_t)message);
	if (event == PTRACE_EVENT_FORK) {
		int status;

		/* Its first stop is still to come, or was seen. */
		if (!thread && waitpid((pid_t)message, &status, __WALL) <= 0)
			return;
		free_child(threads, (pid_t)message);
		drop(threads, (pid_t)message);
		return;
	}
	/* It may have ended by now. */
	if (!thread && !is_thread_of((pid_t)message, (pid_t)message) &&
	    !is_thread_of(threads->pid, (pid_t)message))
		return;
	if (!thread)
		thread = add(threads, (pid_t)message);
	thread->is_child = !is_thread_of(threads->pid, thread->tid);
	if (thread->is_held)
		on_birth(threads, thread);
}

/* Another program has none of the breakpoints. */
static void on_exec(struct attach_threads *threads, pid_t tid)
{
	const struct attach_thread *thread = find(threads, tid);

	if (!thread || !thread->is_child) {
		threads->is_gone = true;
		return;
	}
	(void)ptrace(PTRACE_DETACH, tid, 0, 0);
	drop(threads, tid);
}

/* From within the stop for its signal the thread would get that, were the tracer to end. So it goes
 * on without it, to a stop that comes before its next instruction. */
static void stop_without_signal(struct attach_thread *thread)
{
	thread->is_hit = true;
	(void)ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
	(void)ptrace(PTRACE_CONT, thread->tid, 0, 0);
}

/* Whether the thread is held now. */
static bool on_event(struct attach_threads *threads, struct attach_thread *thread, int event,
		     int signal)
{
	pid_t tid = thread->tid;
	bool is_stop =
		signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;

	if (event == PTRACE_EVENT_STOP && is_stop) {
		(void)ptrace(PTRACE_LISTEN, tid, 0, 0);
		return false;
	}
	if (event == PTRACE_EVENT_STOP && !thread->is_born) {
		on_birth(threads, thread);
		return false;
	}
	if (event == PTRACE_EVENT_STOP && (thread->is_hit || tid == threads->wanted)) {
		thread->is_hit = false;
		thread->is_held = true;
		return true;
	}
	if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
	    event == PTRACE_EVENT_VFORK)
		on_new(threads, tid, event);
	else if (event == PTRACE_EVENT_EXEC)
		on_exec(threads, tid);
	(void)ptrace(PTRACE_CONT, tid, 0, 0);
	return false;
}

static bool is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	       signal == SIGABRT;
}

/* One of them has some news. The thread, if it is held now. */
static struct attach_thread *on_status(struct attach_threads *threads, pid_t tid, int status)
{
	struct attach_thread *thread = find(threads, tid);

	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		drop(threads, tid);
		threads->is_gone |= tid == threads->pid;
		return NULL;
	}
	if (!WIFSTOPPED(status))
		return NULL;
	if (!thread)
		thread = add(threads, tid);
	if (status >> 16)
		return on_event(threads, thread, status >> 16, WSTOPSIG(status)) ? thread : NULL;
	if (tid == threads->caller && is_fault(WSTOPSIG(status))) {
		threads->fault = WSTOPSIG(status);
		thread->is_held = true;
		return thread;
	}
	if (WSTOPSIG(status) != SIGTRAP || !step_back(threads, tid)) {
		if (attach_signal_is_ignored(threads->pid, WSTOPSIG(status)))
			attach_signal_call_again(tid);
		(void)ptrace(PTRACE_CONT, tid, 0, WSTOPSIG(status));
		return NULL;
	}
	attach_signal_block_trap(thread);
	stop_without_signal(thread);
	return NULL;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool attach_threads_are_over(struct attach_threads *threads)
{
	struct pollfd end = { .fd = threads->end, .events = POLLIN };

	threads->is_ended |= poll(&end, 1, 0) > 0;
	return threads->is_gone || threads->is_ended;
}

/* SIGCHLD is blocked: it is taken here, and no child is missed. */
static void sleep_until_news(int timeout_ms)
{
	struct timespec limit = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	(void)sigtimedwait(&set, NULL, &limit);
}

struct attach_thread *attach_threads_wait(struct attach_threads *threads, int timeout_ms)
{
	uint64_t now = now_ms(), end_ms = now + (uint64_t)timeout_ms;

	/* Where threads come and go all the time, there always is some news. */
	for (; !attach_threads_are_over(threads) && now <= end_ms; now = now_ms()) {
		struct attach_thread *held;
		int status;
		pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);

		if (tid < 0) {
			threads->is_gone = true;
		} else if (tid == 0) {
			sleep_until_news((int)(end_ms - now) + 1);
		} else {
			held = on_status(threads, tid, status);
			if (held)
				return held;
		}
	}
	return NULL;
}

struct attach_thread *attach_threads_wait_for_caller(struct attach_threads *threads, int timeout_ms)
{
	uint64_t end_ms = now_ms() + (uint64_t)timeout_ms;
	struct attach_thread *held;

	do {
		held = attach_threads_wait(threads, LOOK_MS);
		if (held && held->tid == threads->caller)
			return held;
		/* Another one that was on its way into a breakpoint. */
		if (held && !attach_traps_are_fork(threads, held->tid))
			attach_threads_go(held);
	} while (!attach_threads_are_over(threads) && now_ms() < end_ms);
	return NULL;
}

struct attach_thread *attach_threads_interrupt(struct attach_threads *threads, pid_t tid,
					       int timeout_ms)
{
	struct attach_thread *held = NULL;

	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0)
		return NULL;
	threads->wanted = tid;
	for (int i = 0; i < timeout_ms && !attach_threads_are_over(threads) && !held; i++) {
		held = attach_threads_wait(threads, LOOK_MS);
		if (held && held->tid != tid) {
			attach_threads_go(held);
			held = NULL;
		}
	}
	threads->wanted = 0;
	return held;
}

void attach_threads_go_all(struct attach_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->all[i].is_held && threads->all[i].is_born)
			attach_threads_go(&threads->all[i]);
}

/* --- The end ---------------------------------------------------------------------------------- */

static uint64_t ran_ns(pid_t pid, pid_t tid)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	return procfs_read_file(path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0;
}

static bool look_whether_clear(const struct attach_threads *threads, struct attach_thread *thread)
{
	pid_t pid = thread->is_child ? thread->tid : threads->pid;
	struct task_call call;

	if (!thread->is_clear)
		thread->is_clear = task_read_call((uint32_t)pid, (uint32_t)thread->tid, &call) ||
				   ran_ns(pid, thread->tid) - thread->ran_ns > CLEAR_NS;
	return thread->is_clear;
}

static bool are_clear(struct attach_threads *threads)
{
	bool are_all = true;

	for (size_t i = 0; i < threads->count; i++)
		are_all &= look_whether_clear(threads, &threads->all[i]);
	return are_all;
}

void attach_threads_release(struct attach_threads *threads)
{
	struct attach_thread *held;

	threads->end = -1;
	threads->is_ended = false;
	attach_threads_set(threads, ATTACH_TRAPS_NONE);
	attach_threads_go_all(threads);
	for (size_t i = 0; i < threads->count; i++) {
		struct attach_thread *thread = &threads->all[i];

		thread->is_clear = false;
		thread->ran_ns = ran_ns(thread->is_child ? thread->tid : threads->pid, thread->tid);
	}
	do {
		held = attach_threads_wait(threads, LOOK_MS);
		if (held) {
			held->is_clear = true;
			attach_threads_go(held);
		}
	} while (!threads->is_gone && (held || !are_clear(threads)));
	free(threads->all);
	if (threads->memory >= 0)
		close(threads->memory);
}
