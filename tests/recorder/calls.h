/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of an imagined thread: frames on an imagined stack, the higher the further out. */
#ifndef WCPROF_TEST_CALLS_H
#define WCPROF_TEST_CALLS_H

#include "op.h"

#include "recording.h"
#include "roster.h"

static char stack[1000];
#define FRAME(n) ((const void *)(stack + (n)))

static struct self *self;

static void setup(void)
{
	recording_begin();
	self = self_enter();
	self->stack_top = stack + sizeof(stack);
}

static void teardown(void)
{
	self_leave(self);
	recording_end();
}

static inline uint64_t begin(enum kind kind, int frame)
{
	return op_begin(self, kind, CALL_READ, 0, 3, 0, FRAME(frame));
}

#endif
