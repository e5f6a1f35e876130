/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that sleeps in the kernel, and can be stopped there without a call of it failing.
 */
#ifndef WCPROF_ATTACH_SLEEPER_H
#define WCPROF_ATTACH_SLEEPER_H

#include "attach_stack.h"
#include "attach_threads.h"

/* Whether the program has an allocator linked into it, whose functions may have no names. */
bool attach_has_own_allocator(const struct attach_threads *threads);
/* Holds one that may load a library. Whatever it did goes on afterwards, with the time that is
 * left. `may_interrupt`: also one whose call fails with EINTR. 0: there is none. */
pid_t attach_sleeper_find(struct attach_threads *threads, struct attach_stack *stack,
			  bool may_interrupt);

#endif
