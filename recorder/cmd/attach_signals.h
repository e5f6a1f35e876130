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
/* False: a breakpoint would make the kernel forget the handler of SIGTRAP, or that it is
 * ignored. */
bool attach_signal_may_trap(const struct attach_threads *threads);
/* Of a thread that is held: if the kernel has ended its system call with EINTR, the call is made
 * again, by the instruction before. */
void attach_signal_call_again(pid_t tid);
/* Of a thread that has hit a breakpoint: it blocks SIGTRAP as before. */
void attach_signal_block_trap(const struct attach_thread *thread);

#endif
