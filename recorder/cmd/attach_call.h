/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of functions by a thread of another process, which is held before a system call.
 *
 * The thread finds all as it was: registers, vector state, signal mask, errno. Of its stack only
 * the part below the red zone is used, as by a signal handler, and that for small calls alone.
 * Whenever it is held it is as it was. While it is inside of a call, it has its way back with it
 * (attach_back.h). So the tracer may end at any moment.
 */
#ifndef WCPROF_ATTACH_CALL_H
#define WCPROF_ATTACH_CALL_H

#include "attach_back.h"
#include "attach_forks.h"
#include "attach_symbols.h"
#include "attach_threads.h"

enum { ATTACH_ARGUMENTS = 6 };

struct attach_call {
	struct attach_threads *threads;
	const struct attach_symbols *libc;
	uint64_t code; /* of a way's steps */
	struct attach_forks forks;
	bool holds_forks;          /* they wait during calls */
	struct attach_state state; /* as it was */
	bool is_left;              /* inside of a call, without us from now on */
	uint64_t error_address;    /* of errno */
	int error;
	uint64_t stack; /* of its own; 0 = none yet */
};

/* False: this libc has no room for a way's code. */
bool attach_call_prepare(struct attach_call *call, struct attach_threads *threads,
			 const struct attach_symbols *libc);
/* Of a thread that is held. False: it cannot be made to call, and is as it was. */
bool attach_call_begin(struct attach_call *call, pid_t tid);
/* Calls a function, and waits for its result. False: it has not come back by then. Then it is left
 * alone: it goes on as if nothing had been, once the function returns. */
bool attach_call(struct attach_call *call, uint64_t function,
		 const uint64_t arguments[ATTACH_ARGUMENTS], int timeout_ms, uint64_t *result);
/* A text of the caller's, for arguments; its address there. 0: there is no room. */
uint64_t attach_call_put(struct attach_call *call, const char *text);
/* The thread goes on as if nothing had been, if it was not left alone. */
void attach_call_end(struct attach_call *call);

#endif
