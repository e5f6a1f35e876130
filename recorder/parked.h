/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call stack of a thread of this process that is blocked in the kernel, from outside it.
 *
 * Nothing is sent to the thread, and nothing of its stack is read where it lies: it may run on, and
 * end, meanwhile. The control thread only.
 */
#ifndef WCPROF_PARKED_H
#define WCPROF_PARKED_H

#include "tasks.h"

/*
 * Return addresses, innermost first; how many. The thread's registers other than the stack pointer
 * are not known from outside: the stack ends where a frame cannot be found without one. 0: the
 * thread has gone on since `call` was read.
 */
uint32_t parked_walk(uint32_t tid, const struct task_call *call, uint64_t *pcs,
		     uint32_t max) HIDDEN;

#endif
