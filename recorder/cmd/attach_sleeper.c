/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that sleeps in the kernel. See attach_sleeper.h.
 *
 * The kernel ends the system call of a thread that is stopped, and begins it again when the thread
 * goes on. Sleeps and polls go on with the time that is left, as long as no other sleep came in
 * between. That holds as often as they are stopped: they end at a moment that the kernel keeps.
 * epoll_wait() it does not begin again. Without a time limit that can be done here
 * instead. With one it begins anew: so such a thread is stopped only when it has just begun to
 * sleep. If the user says so it is stopped anyway, and its call fails with EINTR.
 */
#include "attach_sleeper.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include "attach_signals.h"
#include "attach_symbols.h"
#include "procfs.h"
#include "tasks.h"

enum { INTERRUPT_MS = 100 };

/* It would return the part of a message that has come. */
static enum attach_sleep waits_for_all(uint64_t flags)
{
	return flags & MSG_WAITALL ? ATTACH_SLEEP_NONE : ATTACH_SLEEP_PLAIN;
}

static enum attach_sleep sleep_of(const struct task_call *call)
{
	switch (call->number) {
	case SYS_recvfrom:
		return waits_for_all(call->arguments[3]);
	case SYS_recvmsg:
		return waits_for_all(call->arguments[2]);
	case SYS_read:
	case SYS_readv:
	case SYS_accept:
	case SYS_accept4:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_flock:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
		return ATTACH_SLEEP_PLAIN;
	case SYS_futex:
		return call->arguments[3] == 0 ? ATTACH_SLEEP_PLAIN : ATTACH_SLEEP_TIMED;
	case SYS_poll:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_restart_syscall:
		return ATTACH_SLEEP_TIMED;
	case SYS_rt_sigtimedwait:
		return call->arguments[2] == 0 ? ATTACH_SLEEP_AGAIN : ATTACH_SLEEP_LIMITED;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int32_t)call->arguments[3] < 0 ? ATTACH_SLEEP_AGAIN : ATTACH_SLEEP_LIMITED;
	default:
		return ATTACH_SLEEP_NONE;
	}
}

static bool has_own_allocator(const struct attach_threads *threads)
{
	struct attach_symbols program;
	char name[256];
	bool has = true;

	procfs_executable(threads->pid, name, sizeof(name));
	if (name[0] && attach_symbols_read(&program, threads->pid, threads->memory, name) == 0) {
		has = attach_symbols_address(&program, "malloc") != 0;
		attach_symbols_free(&program);
	}
	return has;
}

/* The next time is after twice the pause. */
static void leave_alone(struct attach_thread *thread)
{
	thread->pause_ms = 2 * thread->pause_ms + 1;
	thread->again_ms = attach_now_ms() + thread->pause_ms;
}

static bool is_stopped_safely(struct attach_threads *threads, struct attach_stack *stack, pid_t tid,
			      enum attach_sleep sleep)
{
	struct attach_thread *held = attach_threads_interrupt(threads, tid, INTERRUPT_MS);
	struct user_regs_struct registers;
	bool is_safe;

	if (held && sleep != ATTACH_SLEEP_LIMITED)
		attach_signal_call_again(tid);
	if (!held || !attach_thread_get(tid, &registers))
		return false;
	is_safe = attach_stack_is_safe(stack, tid, &registers, sleep == ATTACH_SLEEP_LOCK);
	if (!is_safe)
		attach_threads_go(threads, held);
	return is_safe;
}

static bool stop(struct attach_threads *threads, struct attach_stack *stack,
		 struct attach_thread *thread, enum attach_sleep sleep)
{
	pid_t tid = thread->tid;

	leave_alone(thread);
	return is_stopped_safely(threads, stack, tid, sleep);
}

static enum attach_sleep sleep_now(const struct attach_threads *threads,
				   const struct attach_thread *thread)
{
	struct task_call call;

	return task_read_call((uint32_t)threads->pid, (uint32_t)thread->tid, &call)
		       ? sleep_of(&call)
		       : ATTACH_SLEEP_NONE;
}

pid_t attach_sleeper_find(struct attach_threads *threads, struct attach_stack *stack,
			  enum attach_sleep sleep)
{
	bool waits_for_lock = sleep == ATTACH_SLEEP_LOCK;
	enum attach_sleep wanted = waits_for_lock ? ATTACH_SLEEP_PLAIN : sleep;

	if (waits_for_lock && has_own_allocator(threads))
		return 0;
	for (size_t i = 0; i < threads->count && !attach_threads_are_over(threads); i++) {
		pid_t tid = threads->all[i].tid;

		if (sleep_now(threads, &threads->all[i]) == wanted &&
		    stop(threads, stack, &threads->all[i], sleep))
			return tid;
	}
	return 0;
}

/* The first look at it says nothing. */
static bool has_just_begun(const struct attach_threads *threads, struct attach_thread *thread)
{
	uint64_t before = thread->switches;

	thread->switches = task_switches((uint32_t)threads->pid, (uint32_t)thread->tid);
	return before != 0 && thread->switches != before;
}

static bool may_be_stopped(const struct attach_threads *threads, struct attach_thread *thread,
			   enum attach_sleep sleep, enum attach_sleep most)
{
	/* Being stopped in vain makes it begin, too. */
	bool has_begun = sleep == ATTACH_SLEEP_LIMITED && has_just_begun(threads, thread);

	return (has_begun || sleep <= most) && attach_now_ms() >= thread->again_ms;
}

pid_t attach_sleeper_find_new(struct attach_threads *threads, struct attach_stack *stack,
			      enum attach_sleep most)
{
	for (size_t i = 0; i < threads->count && !attach_threads_are_over(threads); i++) {
		struct attach_thread *thread = &threads->all[i];
		pid_t tid = thread->tid;
		enum attach_sleep sleep = sleep_now(threads, thread);

		/* A sleep with a limit is begun again, as it has just begun. */
		if (may_be_stopped(threads, thread, sleep, most) &&
		    stop(threads, stack, thread,
			 sleep == ATTACH_SLEEP_LIMITED ? ATTACH_SLEEP_AGAIN : sleep))
			return tid;
	}
	return 0;
}
