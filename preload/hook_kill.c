/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that the program sends, to other threads or to processes.
 *
 * Each is a link, recorded before the signal is given: what it ends comes after it. To whom and
 * which signal is all there is to say; which call it ended the analyzer finds. One that could not
 * be sent is a link that ends nothing. A thread's signals to itself are of no interest.
 *
 * Threads: any, also in signal handlers.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include "hooks.h"
#include "watch.h"

/* `to`: a process or thread, as the kernel numbers them; 0 = a group of processes, or `op` says. */
static void sends(int number, pid_t to, uint64_t op)
{
	struct self *self = number ? hook_enter() : NULL;
	if (!self)
		return;
	link_record(self, LINK_SIGNAL, op, (const void *)(uintptr_t)(to > 0 ? to : 0), 0,
		    (uint32_t)number);
	self_leave(self);
}

/* The first thread has no watch; it has the process's number. */
static void sends_to_thread(int number, pthread_t thread)
{
	uint64_t op = watch_thread_op((const void *)thread);
	pid_t process = op ? 0 : (pid_t)real.syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	sends(number, process, op);
}

int hook_kill(pid_t process, int number)
{
	sends(number, process, 0);
	return real.kill(process, number);
}

int hook_killpg(pid_t group, int number)
{
	sends(number, 0, 0);
	return real.killpg(group, number);
}

int hook_tgkill(pid_t process, pid_t thread, int number)
{
	sends(number, thread, 0);
	return real.tgkill(process, thread, number);
}

int hook_sigqueue(pid_t process, int number, const union sigval value)
{
	sends(number, process, 0);
	return real.sigqueue(process, number, value);
}

int hook_pthread_kill_old(pthread_t thread, int number)
{
	sends_to_thread(number, thread);
	return real.pthread_kill_old(thread, number);
}

int hook_pthread_kill(pthread_t thread, int number)
{
	sends_to_thread(number, thread);
	return real.pthread_kill(thread, number);
}

int hook_pthread_sigqueue(pthread_t thread, int number, const union sigval value)
{
	sends_to_thread(number, thread);
	return real.pthread_sigqueue(thread, number, value);
}

/* --- By syscall() --- */

long hook_raw_kill(long a, long b, long c, long d, long e, long f)
{
	sends((int)b, (pid_t)a, 0);
	return real.syscall(SYS_kill, a, b, c, d, e, f);
}

long hook_raw_tkill(long a, long b, long c, long d, long e, long f)
{
	sends((int)b, (pid_t)a, 0);
	return real.syscall(SYS_tkill, a, b, c, d, e, f);
}

long hook_raw_tgkill(long a, long b, long c, long d, long e, long f)
{
	sends((int)c, (pid_t)b, 0);
	return real.syscall(SYS_tgkill, a, b, c, d, e, f);
}
