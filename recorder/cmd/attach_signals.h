/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of a process that is traced: where tracing alone would make a difference to it.
 */
#ifndef WCPROF_ATTACH_SIGNALS_H
#define WCPROF_ATTACH_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach_threads.h"

/* Whether the process has a signal ignored. It would not wake a thread that is not traced. */
bool attach_signal_is_ignored(pid_t pid, int signal);
/* Of a thread that is held: if the kernel has ended its system call with EINTR, the call is made
 * again, by the instruction before. */
void attach_signal_call_again(pid_t tid);

#endif
