/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that are within five bytes of code just when these become a jump.
 *
 * They trap at their next instruction: at an int3, or at a byte that is no instruction. A handler
 * of SIGTRAP or SIGILL moves them to where that is now. It is there until each thread has been seen
 * elsewhere, or has run for longer than five bytes take.
 *
 * Known race: a thread that a signal interrupted there, and whose handler takes longer than that,
 * comes back to a trap without a handler.
 *
 * The control thread only, but for the handler.
 */
#ifndef WCPROF_PROBE_TRAPS_H
#define WCPROF_PROBE_TRAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

/* NULL: a thread that is at that address or within four bytes behind it may have these signals now,
 * bits of the two. Else the reason why it may not. Waits a while for threads that block one for
 * moments. */
const char *probe_traps_why_not(uint64_t address, uint32_t signals) HIDDEN;
/* Sets the handlers; false: no. `moved_to` says where an instruction is now; 0: nowhere else. */
bool probe_traps_begin(uint64_t (*moved_to)(uint64_t pc), uint32_t signals) HIDDEN;
/* The bytes are a jump now. */
void probe_traps_note(void) HIDDEN;
/* Takes the handlers away when no thread needs them; true: some still does. */
bool probe_traps_tick(void) HIDDEN;

#endif
