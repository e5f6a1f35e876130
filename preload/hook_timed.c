/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are an op and nothing more: input, output, readiness, signals. All bodies come from
 * the TIMED rows of hooks.def.
 *
 * Nothing is held across the real call: a thread that is cancelled in it, or leaves it by longjmp,
 * has an op open, which the recorder closes as canceled when it sees that its frame is gone or the
 * thread ends. Invariant: the result and errno are the real call's.
 */
#include <errno.h>

#include "hooks.h"

static uint64_t timed_begin(enum kind kind, enum call call, int fd, struct caller caller)
{
	struct self *self = hook_enter();
	if (!self)
		return 0;
	uint64_t op = op_begin(self, kind, call, 0, fd, caller_stack(self, caller), caller.frame);
	self_leave(self);
	return op;
}

/* `value` is what the call moved, when it did not fail. */
static void timed_end(uint64_t op, bool has_failed, int64_t value)
{
	int64_t error = -(int64_t)errno;
	struct self *self = op ? hook_enter() : NULL;
	if (!self)
		return;
	op_end(self, op, has_failed ? OUTCOME_ERROR : OUTCOME_OK,
	       (uint64_t)(has_failed ? error : value));
	self_leave(self);
}

#define TIMED(kind, type, symbol, call, parameters, arguments, fd, value)          \
	type hook_##symbol parameters                                              \
	{                                                                          \
		uint64_t op = timed_begin(KIND_##kind, CALL_##symbol, fd, CALLER); \
		type result = real.symbol arguments;                               \
		timed_end(op, result < 0, value);                                  \
		return result;                                                     \
	}
#include "hooks.def"
