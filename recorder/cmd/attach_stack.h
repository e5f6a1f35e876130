/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a thread that is held may load a library: by its call stack.
 */
#ifndef WCPROF_ATTACH_STACK_H
#define WCPROF_ATTACH_STACK_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

struct attach_stack;

/* Looks at the files of the process, which takes a while. NULL: they cannot be read. */
struct attach_stack *attach_stack_open(pid_t pid, int memory);
void attach_stack_close(struct attach_stack *stack);
/* False: it is inside of the loader, an allocator, a fork, an exit or a signal handler. If it
 * `waits_for_lock`, it may be inside of any lock's function, else of none. */
bool attach_stack_is_safe(struct attach_stack *stack, pid_t tid,
			  const struct user_regs_struct *registers, bool waits_for_lock);

#endif
