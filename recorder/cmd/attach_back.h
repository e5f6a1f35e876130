/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way back of a thread that is made to call a function: it finds all as it was, without help.
 *
 * Each step of a way is the frame that the kernel writes for a signal handler. It returns into a
 * few instructions, which call sigreturn(). That takes registers, vector state and signal mask from
 * there, all at once. So a thread may be left on its way at any moment, even if the tracer is
 * killed. errno is what the function has left. A sleep with a time limit fails with EINTR then.
 *
 * The instructions are in libc's memory, in what is left of the last page of its code.
 */
#ifndef WCPROF_ATTACH_BACK_H
#define WCPROF_ATTACH_BACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "attach_symbols.h"

enum {
	ATTACH_CODE_BYTES = 16, /* that the instructions take, with what is free behind them */
	ATTACH_STATE_BYTES = 16384,
	ATTACH_STEP_BYTES = ATTACH_STATE_BYTES + 1024 /* that a step takes of the stack, at most */
};

/* Of a thread that is held, or is to be. */
struct attach_state {
	struct user_regs_struct registers;
	uint64_t mask;                       /* of signals */
	size_t vector_bytes;                 /* 0: as in a new process */
	uint8_t vectors[ATTACH_STATE_BYTES]; /* and all else that XSAVE saves */
};

/* Writes the instructions. Their address; 0: there is no room. */
uint64_t attach_back_put_code(const struct attach_symbols *libc, int memory);
/*
 * Writes the step to a state below `top`. A function whose return address is at the address that
 * this returns goes there next. 0: there is no such memory.
 */
uint64_t attach_back_write(const struct attach_state *, uint64_t code, int memory, uint64_t top);
/* Of a thread that was stopped in a system call: it will make it again, where the kernel would. */
void attach_back_begin_again(struct user_regs_struct *);
/* Whether a function has returned to the step, which the thread is about to go; if so, what it
 * returned. */
bool attach_back_is_at(const struct user_regs_struct *, uint64_t step, uint64_t *result);

#endif
