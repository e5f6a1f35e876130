/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds machine code that waits by looking: a short loop that reads memory, compares, and goes
 * round again. It does not change that memory; another thread does, and ends the wait.
 *
 * x86-64 only; of other machines' code nothing is known. Any bytes may be given. Thread-safe.
 */
#ifndef WCPROF_SPINLOOP_H
#define WCPROF_SPINLOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SPINLOOP_BYTES_MAX = 96,     /* from its first instruction to the end of its last */
	SPINLOOP_PROLOGUE_BYTES = 48 /* of a function, in which it sets up its frame */
};

/*
 * Whether the instruction at code[at] is part of such a loop. For a loop of the greatest length
 * `code` should reach SPINLOOP_BYTES_MAX to either side. `has_frame`: rbp points to the frame of
 * its function; else it is a register like others.
 */
bool spinloop_is_at(const uint8_t *code, size_t bytes, size_t at, bool has_frame);

/* A function that begins like this has set rbp from rsp. */
bool spinloop_has_frame(const uint8_t *function, size_t bytes);

#endif
