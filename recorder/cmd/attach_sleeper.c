/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that sleeps in the kernel. See attach_sleeper.h.
 *
 * The kernel ends the system call of a thread that is stopped, and begins it again when the thread
 * goes on. Sleeps and polls go on with the time that is left, as long as no other sleep came in
 * between. epoll_wait() it does not begin again. Without a time limit that can be done here
 * instead. With one it would begin anew: such a call fails with EINTR, if the user says so.
 */
#include "attach_sleeper.h"

#include <sys/syscall.h>

#include "attach_signals.h"
#include "attach_symbols.h"
#include "procfs.h"
#include "tasks.h"

enum { INTERRUPT_MS = 100 };

/* In the order in which they are tried. */
enum sleep {
	SLEEP_PLAIN,   /* no time limit, or the kernel goes on with it */
	SLEEP_LOCK,    /* the same, but maybe for an allocator's lock */
	SLEEP_LIMITED, /* with one that is lost */
	SLEEP_NONE
};

static enum sleep sleep_of(const struct task_call *call)
{
	switch (call->number) {
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_flock:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_futex:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return SLEEP_PLAIN;
	case SYS_rt_sigtimedwait:
		return call->arguments[2] == 0 ? SLEEP_PLAIN : SLEEP_LIMITED;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int32_t)call->arguments[3] < 0 ? SLEEP_PLAIN : SLEEP_LIMITED;
	default:
		return SLEEP_NONE;
	}
}

bool attach_has_own_allocator(const struct attach_threads *threads)
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

static bool stop(struct attach_threads *threads, struct attach_stack *stack, pid_t tid,
		 enum sleep sleep)
{
	struct attach_thread *held = attach_threads_interrupt(threads, tid, INTERRUPT_MS);
	struct user_regs_struct registers;
	bool is_safe;

	if (!held || !attach_thread_get(tid, &registers))
		return false;
	is_safe = attach_stack_is_safe(stack, tid, &registers, sleep == SLEEP_LOCK);
	if (sleep != SLEEP_LIMITED)
		attach_signal_call_again(tid);
	if (!is_safe)
		attach_threads_go(held);
	return is_safe;
}

static pid_t find(struct attach_threads *threads, struct attach_stack *stack, enum sleep sleep)
{
	enum sleep wanted = sleep == SLEEP_LOCK ? SLEEP_PLAIN : sleep;

	for (size_t i = 0; i < threads->count && !attach_threads_are_over(threads); i++) {
		pid_t tid = threads->all[i].tid;
		struct task_call call;

		if (!threads->all[i].is_child &&
		    task_read_call((uint32_t)threads->pid, (uint32_t)tid, &call) &&
		    sleep_of(&call) == wanted && stop(threads, stack, tid, sleep))
			return tid;
	}
	return 0;
}

pid_t attach_sleeper_find(struct attach_threads *threads, struct attach_stack *stack,
			  bool may_interrupt)
{
	pid_t tid = find(threads, stack, SLEEP_PLAIN);

	if (tid == 0 && !attach_has_own_allocator(threads))
		tid = find(threads, stack, SLEEP_LOCK);
	if (tid == 0 && may_interrupt)
		tid = find(threads, stack, SLEEP_LIMITED);
	return tid;
}
