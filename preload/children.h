/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process on its way: announced before it is made, begun in the parent when it is there.
 */
#ifndef WCPROF_CHILDREN_H
#define WCPROF_CHILDREN_H

#include "hooks.h"
#include "watch.h"

struct child_start {
	uint64_t op;
	uint64_t parent_op;
	uint64_t ticks;     /* of the recorder's clock */
	uint64_t boot_tick; /* of the kernel's, before the call */
	uint32_t stack;
	uint32_t name;
};

/* Before the call that makes the child. `name` is the class of its op, a string id. */
void child_announce(struct child_start *, uint32_t name, struct caller) HIDDEN;

/* After it, in the parent only. */
void child_begin(const struct child_start *, pid_t) HIDDEN;

/* The key of a child's watch. */
const void *child_key(pid_t) HIDDEN;

#endif
