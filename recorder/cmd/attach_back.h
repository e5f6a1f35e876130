/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way back of a thread that is made to call a function: it finds all as it was, without help.
 *
 * The function returns to a stub of libc's, which returns to sigreturn(). That takes registers,
 * vector state and signal mask from the stack. So a call may be left alone at any moment, and even
 * the tracer may be killed. errno is what the function has left.
 */
#ifndef WCPROF_ATTACH_BACK_H
#define WCPROF_ATTACH_BACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "attach_symbols.h"

enum {
	ATTACH_STATE_BYTES = 16384,
	ATTACH_BACK_BYTES = ATTACH_STATE_BYTES + 2048 /* that it takes of the stack, at most */
};

/* Of a thread that is held. */
struct attach_state {
	struct user_regs_struct registers;
	uint64_t mask; /* of signals */
	size_t vector_bytes;
	uint8_t vectors[ATTACH_STATE_BYTES]; /* and all else that XSAVE saves */
};

/* Where libc ends a signal handler; 0: nowhere is code like that. */
uint64_t attach_back_find(const struct attach_symbols *libc, int memory);
/*
 * Writes the way back below `top`. The address of the word that a function's return address is to
 * be in, which the caller of this writes; behind it, all is there. 0: there is no such memory.
 */
uint64_t attach_back_write(const struct attach_state *, uint64_t sigreturn, int memory,
			   uint64_t top);

#endif
