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
