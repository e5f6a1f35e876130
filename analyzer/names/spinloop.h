/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether machine code waits by looking: a short loop that reads memory which it does not change,
 * compares, and goes round again until another thread has written there.
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
