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

enum { SPINLOOP_BYTES_MAX = 96 }; /* from its first instruction to the end of its last */

/*
 * Whether the instruction at code[at] is part of such a loop. For a loop of the greatest length
 * `code` should reach SPINLOOP_BYTES_MAX to either side.
 */
bool spinloop_is_at(const uint8_t *code, size_t bytes, size_t at);

#endif
