/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads of a process, traced but not stopped. See attach_threads.h.
 *
 * Nobody is stopped to be traced, so no system call of the program's is interrupted. Signals on
 * their way stop a thread, and go on to it at once.
 *
 * When the tracer ends, the kernel lets go of every thread. One that is stopped for a signal gets
 * it, if waitpid() has not taken the stop. So stops are looked at, and only ours are taken
 * (WNOWAIT). A stop at a system call would count as SIGTRAP, and end the program. But with
 * PTRACE_O_TRACESYSGOOD it counts as a signal that does not exist.
 */
#include "attach_threads.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach_signals.h"
#include "tasks.h"

enum {
	LOOK_MS = 1,
	RELEASE_MS = 100, /* until all have stopped that were asked to */
	SYSCALL_BYTES = 2,
	AT_SYSCALL = SIGTRAP | 0x80 /* as TRACESYSGOOD numbers the stop */
};

#define OPTIONS (PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)

/* --- Registers -------------------------------------------------------------------------------- */

bool attach_thread_get(pid_t tid, struct user_regs_struct *registers)
{
	struct iovec part = { registers, sizeof(*registers) };

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &part) == 0;
}

bool attach_thread_set(pid_t tid, const struct user_regs_struct *registers)
{
	struct iovec part = { (void *)(uintptr_t)registers, sizeof(*registers) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &part) == 0;
}

/* Whether it is about to make a system call, or has made one that the kernel does not know. */
static bool is_at_call(pid_t tid, struct user_regs_struct *registers)
{
	return attach_thread_get(tid, registers) && (long)registers->orig_rax >= 0 &&
	       (long)registers->rax == -ENOSYS;
}

/* It is before the instruction again. */
static bool step_back(pid_t tid, struct user_regs_struct *registers)
{
	registers->rax = registers->orig_rax;
	registers->orig_rax = UINT64_MAX;
	registers->rip -= SYSCALL_BYTES;
	return attach_thread_set(tid, registers);
}

/* --- The list --------------------------------------------------------------------------------- */

static struct attach_thread *find(const struct attach_threads *threads, pid_t tid)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->all[i].tid == tid)
			return &threads->all[i];
	return NULL;
}

static void add(struct attach_threads *threads, pid_t tid)
{
	struct attach_thread *grown;

	if ((threads->count & (threads->count + 1)) == 0) {
		grown = realloc(threads->all, 2 * (threads->count + 1) * sizeof(*grown));
		if (!grown)
			abort();
		threads->all = grown;
	}
	threads->all[threads->count++] = (struct attach_thread){ .tid = tid };
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
};

static void seize_one(uint32_t tid, void *context)
{
	struct seizing *seizing = context;

	if (ptrace(PTRACE_SEIZE, tid, 0, OPTIONS) == 0)
		add(seizing->threads, (pid_t)tid);
	else
		seizing->result = -errno;
}

int attach_threads_seize(struct attach_threads *threads, pid_t pid, int end)
{
	struct seizing seizing = { .threads = threads, .result = -ESRCH };
	char path[64];

	*threads = (struct attach_threads){ .pid = pid, .end = end };
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	threads->memory = open(path, O_RDWR | O_CLOEXEC);
	if (threads->memory < 0)
		return -errno;
	(void)tasks_see((uint32_t)pid, seize_one, &seizing);
	return threads->count == 0 ? seizing.result : 0;
}

/* --- Stopping and going on -------------------------------------------------------------------- */

/* A stop of any kind takes the place of one that the thread was asked for: it is asked again. */
static void resume(const struct attach_threads *threads, const struct attach_thread *thread,
		   int signal)
{
	bool stops_again =
		thread->tid == threads->caller || (threads->is_watching && thread->is_watched);

	if (thread->is_asked)
		(void)ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
	(void)ptrace(stops_again ? PTRACE_SYSCALL : PTRACE_CONT, thread->tid, 0, signal);
}

void attach_threads_go(const struct attach_threads *threads, struct attach_thread *thread)
{
	thread->is_held = false;
	resume(threads, thread, 0);
}

static bool ask_to_stop(struct attach_thread *thread)
{
	thread->is_asked = ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0) == 0;
	return thread->is_asked;
}

void attach_threads_watch(struct attach_threads *threads, struct attach_thread *thread)
{
	threads->is_watching = true;
	if (!thread->is_watched)
		thread->is_watched = ask_to_stop(thread);
}

/* --- What happens ----------------------------------------------------------------------------- */

/* The stop is ours from now on. */
static bool hold(struct attach_thread *thread)
{
	int status;

	thread->is_held = waitpid(thread->tid, &status, __WALL | WNOHANG) == thread->tid;
	return thread->is_held;
}

/* These say whether the thread is held now. */
static bool on_event(struct attach_threads *threads, struct attach_thread *thread, int event,
		     int signal)
{
	bool is_stop =
		signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;

	if (event == PTRACE_EVENT_STOP && is_stop) {
		(void)ptrace(PTRACE_LISTEN, thread->tid, 0, 0);
		return false;
	}
	if (event == PTRACE_EVENT_EXEC)
		threads->is_gone = true;
	if (event == PTRACE_EVENT_STOP && thread->is_asked) {
		thread->is_asked = false;
		if (thread->tid == threads->wanted)
			return hold(thread);
		attach_signal_call_again(thread->tid);
	}
	resume(threads, thread, 0);
	return false;
}

/* Once for each call: a thread that went on makes it, and stops once more as it has ended. */
static bool is_held_at_call(const struct attach_threads *threads, struct attach_thread *thread)
{
	struct user_regs_struct registers;
	enum attach_call_state before = thread->call;

	if (!threads->is_watching || !thread->is_watched)
		return false;
	if (before == ATTACH_CALL_MADE)
		thread->call = ATTACH_CALL_NONE;
	else if (is_at_call(thread->tid, &registers))
		thread->call = before == ATTACH_CALL_NONE ? ATTACH_CALL_SEEN : ATTACH_CALL_MADE;
	return before == ATTACH_CALL_NONE && thread->call == ATTACH_CALL_SEEN &&
	       step_back(thread->tid, &registers);
}

static bool on_syscall(struct attach_threads *threads, struct attach_thread *thread)
{
	if (thread->tid == threads->caller || is_held_at_call(threads, thread))
		return hold(thread);
	resume(threads, thread, 0);
	return false;
}

static bool is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
	       signal == SIGABRT;
}

static bool on_signal(struct attach_threads *threads, struct attach_thread *thread, int signal)
{
	if (thread->tid == threads->caller && is_fault(signal)) {
		threads->fault = signal;
		return hold(thread);
	}
	if (attach_signal_is_ignored(threads->pid, signal))
		attach_signal_call_again(thread->tid);
	resume(threads, thread, signal);
	return false;
}

static void on_end(struct attach_threads *threads, pid_t tid)
{
	(void)waitpid(tid, NULL, __WALL | WNOHANG);
	drop(threads, tid);
	threads->is_gone |= tid == threads->pid;
}

/* One of them has some news. The thread, if it is held now. */
static struct attach_thread *on_news(struct attach_threads *threads, const siginfo_t *news)
{
	struct attach_thread *thread = find(threads, news->si_pid);
	int signal = news->si_status & 0xff, event = news->si_status >> 8;
	bool is_held;

	if (news->si_code != CLD_TRAPPED) {
		on_end(threads, news->si_pid);
		return NULL;
	}
	/* Another program's: one that executes it has its first thread's number. */
	if (!thread) {
		threads->is_gone = true;
		return NULL;
	}
	if (event != 0)
		is_held = on_event(threads, thread, event, signal);
	else if (signal == AT_SYSCALL)
		is_held = on_syscall(threads, thread);
	else
		is_held = on_signal(threads, thread, signal);
	return is_held ? thread : NULL;
}

uint64_t attach_now_ms(void)
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
	uint64_t now = attach_now_ms(), end_ms = now + (uint64_t)timeout_ms;

	/* Where threads have signals all the time, there always is some news. */
	for (; !attach_threads_are_over(threads) && now <= end_ms; now = attach_now_ms()) {
		struct attach_thread *held;
		siginfo_t news = { 0 };

		if (waitid(P_ALL, 0, &news, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) != 0) {
			threads->is_gone = true;
		} else if (news.si_pid == 0) {
			sleep_until_news((int)(end_ms - now) + 1);
		} else {
			held = on_news(threads, &news);
			if (held)
				return held;
		}
	}
	return NULL;
}

struct attach_thread *attach_threads_caller(const struct attach_threads *threads)
{
	struct attach_thread *thread = find(threads, threads->caller);

	return thread && thread->is_held ? thread : NULL;
}

struct attach_thread *attach_threads_wait_for_caller(struct attach_threads *threads, int timeout_ms)
{
	uint64_t end_ms = attach_now_ms() + (uint64_t)timeout_ms;
	struct attach_thread *held;

	do {
		held = attach_threads_wait(threads, LOOK_MS);
		if (held && held->tid == threads->caller)
			return held;
		if (held)
			attach_threads_go(threads, held);
	} while (!attach_threads_are_over(threads) && attach_now_ms() < end_ms);
	return NULL;
}

struct attach_thread *attach_threads_interrupt(struct attach_threads *threads, pid_t tid,
					       int timeout_ms)
{
	struct attach_thread *held = find(threads, tid);

	if (!held || !ask_to_stop(held))
		return NULL;
	held = NULL;
	threads->wanted = tid;
	for (int i = 0; i < timeout_ms && !attach_threads_are_over(threads) && !held; i++) {
		held = attach_threads_wait(threads, LOOK_MS);
		if (held && held->tid != tid) {
			attach_threads_go(threads, held);
			held = NULL;
		}
	}
	threads->wanted = 0;
	return held;
}

/* --- The end ---------------------------------------------------------------------------------- */

static bool is_any_asked(const struct attach_threads *threads)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->all[i].is_asked)
			return true;
	return false;
}

void attach_threads_release(struct attach_threads *threads)
{
	threads->end = -1;
	threads->is_ended = false;
	threads->is_watching = false;
	threads->caller = 0;
	for (size_t i = 0; i < threads->count; i++)
		if (threads->all[i].is_held)
			attach_threads_go(threads, &threads->all[i]);
	for (int i = 0; i < RELEASE_MS && is_any_asked(threads) && !threads->is_gone; i++)
		(void)attach_threads_wait(threads, LOOK_MS);
	free(threads->all);
	if (threads->memory >= 0)
		close(threads->memory);
}
