/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of asynchronous input and output: with LIO_WAIT an op until all of it is done. Without it
 * the call only queues, and is passed on.
 *
 * Three versions: in the oldest one libc takes another layout of the event. Threads: any; nothing
 * is held across the real call.
 */
#include <errno.h>

#include "hooks.h"

typedef int list_call(int, struct aiocb *const[], int, struct sigevent *);

static int do_list(list_call *call, enum call name, int mode, struct aiocb *const list[], int count,
		   struct sigevent *event, struct caller caller)
{
	struct self *self = mode == LIO_WAIT ? hook_enter() : NULL;
	uint64_t op = 0;
	if (self)
		op = op_begin(self, KIND_IO, name, 0, -1, caller_stack(self, caller), caller.frame);
	self_leave(self);
	int result = call(mode, list, count, event);
	int64_t error = -(int64_t)errno;
	self = hook_enter_end(op, false);
	if (self)
		op_end(self, op, result < 0 ? OUTCOME_ERROR : OUTCOME_OK,
		       (uint64_t)(result < 0 ? error : 0));
	self_leave(self);
	return result;
}

#define LIST_HOOK(id)                                                                          \
	int hook_##id(int mode, struct aiocb *const list[], int count, struct sigevent *event) \
	{                                                                                      \
		return do_list(real.id, CALL_##id, mode, list, count, event, CALLER);          \
	}

LIST_HOOK(lio_listio_old)
LIST_HOOK(lio_listio_2_4)
LIST_HOOK(lio_listio)
LIST_HOOK(lio_listio64_old)
LIST_HOOK(lio_listio64_2_4)
LIST_HOOK(lio_listio64)
