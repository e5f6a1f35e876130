/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of a process that is traced. See attach_signals.h.
 *
 * Facts are those of /proc/PID/status. One thread.
 */
#include "attach_signals.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "procfs.h"
#include "tasks.h"

static uint64_t signals_of(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, 16) : 0;
}

enum { STATUS_BYTES = 8192 };

static bool read_status(pid_t pid, char status[STATUS_BYTES])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return procfs_read_file(path, status, STATUS_BYTES) > 0;
}

bool attach_signal_is_ignored(pid_t pid, int signal)
{
	uint64_t bit = UINT64_C(1) << (signal - 1);
	char status[STATUS_BYTES];

	if (!read_status(pid, status))
		return false;
	if (signals_of(status, "\nSigIgn:\t") & bit)
		return true;
	return (signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT) &&
	       !(signals_of(status, "\nSigCgt:\t") & bit);
}

bool attach_signal_may_trap(const struct attach_threads *threads)
{
	char status[STATUS_BYTES];

	if (attach_signal_is_ignored(threads->pid, SIGTRAP) || !read_status(threads->pid, status))
		return false;
	if (!(signals_of(status, "\nSigCgt:\t") >> (SIGTRAP - 1) & 1))
		return true;
	for (size_t i = 0; i < threads->count; i++)
		if (task_blocks_signal((uint32_t)threads->pid, (uint32_t)threads->all[i].tid,
				       SIGTRAP))
			return false;
	return true;
}

void attach_signal_call_again(pid_t tid)
{
	enum { SYSCALL_BYTES = 2 };
	struct user_regs_struct registers;

	if (!attach_thread_get(tid, &registers) || (long)registers.orig_rax < 0 ||
	    registers.orig_rax == SYS_connect || (long)registers.rax != -EINTR)
		return;
	registers.rax = registers.orig_rax;
	registers.orig_rax = UINT64_MAX;
	registers.rip -= SYSCALL_BYTES;
	(void)attach_thread_set(tid, &registers);
}

/* A thread that blocks all others had blocked it as well. */
void attach_signal_block_trap(const struct attach_thread *thread)
{
	const uint64_t usual =
		1u << (SIGHUP - 1) | 1u << (SIGINT - 1) | 1u << (SIGTERM - 1) | 1u << (SIGUSR1 - 1);
	uint64_t mask = 0;

	if (ptrace(PTRACE_GETSIGMASK, thread->tid, sizeof(mask), &mask) != 0 ||
	    (!thread->blocks_trap && (mask & usual) != usual))
		return;
	mask |= UINT64_C(1) << (SIGTRAP - 1);
	(void)ptrace(PTRACE_SETSIGMASK, thread->tid, sizeof(mask), &mask);
}
