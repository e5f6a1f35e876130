/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which memory is the calling thread's own stack, and can be read as long as the thread lives.
 *
 * It is where the C library put it. It reaches from its top to the lowest page that was ever found
 * readable without a gap. Any thread, also in a handler of a signal; errno stays.
 */
#ifndef WCPROF_OWN_STACK_H
#define WCPROF_OWN_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

struct own_stack {
	uint64_t low;     /* [low, top) can be read */
	uint64_t top;     /* 0: not looked up yet */
	uint64_t refused; /* block of memory in which a frame was found to be on another stack */
};

extern __thread struct own_stack own_stack HIDDEN __attribute__((tls_model("initial-exec")));

/* Lowers `own_stack.low` to the frame's page if all pages between can be read. */
bool own_stack_extend(uint64_t frame) HIDDEN;

static inline bool own_stack_has(uint64_t frame)
{
	return LIKELY(frame >= own_stack.low && frame < own_stack.top) || own_stack_extend(frame);
}

/* How many words from `frame` upwards are on it. 0: the frame is elsewhere, or not aligned. */
uint64_t stack_words_above(uint64_t frame) HIDDEN;
/* Whether a word anywhere can be read, just now. A system call. */
bool stack_is_readable(uint64_t address) HIDDEN;

#endif
