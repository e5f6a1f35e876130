/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of functions by a thread of another process, which is held at the entry of a function.
 *
 * The thread finds all as it was: registers, vector state, signal mask, errno. Of its stack only
 * the part below the red zone is used, and that for small calls alone.
 */
#ifndef WCPROF_ATTACH_CALL_H
#define WCPROF_ATTACH_CALL_H

#include "attach_symbols.h"
#include "attach_threads.h"

enum { ATTACH_STATE_BYTES = 16384, ATTACH_ARGUMENTS = 6 };

struct attach_call {
	struct attach_threads *threads;
	const struct attach_symbols *libc;
	uint64_t return_address;           /* of a breakpoint */
	struct user_regs_struct registers; /* as they were */
	uint64_t mask;
	bool ignores_trap;      /* SIGTRAP: a breakpoint makes the kernel forget that */
	uint64_t error_address; /* of errno */
	int error;
	uint64_t stack; /* of its own; 0 = none yet */
	size_t state_bytes;
	uint8_t state[ATTACH_STATE_BYTES]; /* of the vector unit and all else */
};

/* Adds the breakpoint that calls return to. False: this libc has no function for it. */
bool attach_call_prepare(struct attach_call *call, struct attach_threads *threads,
			 const struct attach_symbols *libc);
/* Of a thread that is held. False: it cannot be made to call, and is as it was. */
bool attach_call_begin(struct attach_call *call, pid_t tid);
/* Calls a function, and waits for its result. False: it has not come back by then; to go on
 * waiting, attach_call_wait(). */
bool attach_call(struct attach_call *call, uint64_t function,
		 const uint64_t arguments[ATTACH_ARGUMENTS], int timeout_ms, uint64_t *result);
bool attach_call_wait(struct attach_call *call, int timeout_ms, uint64_t *result);
/* A text of the caller's, for arguments; its address there. 0: there is no room. */
uint64_t attach_call_put(struct attach_call *call, const char *text);
/* The thread goes on as if nothing had been. */
void attach_call_end(struct attach_call *call);

#endif
