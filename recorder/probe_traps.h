/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that are within five bytes of code just when these become a jump.
 *
 * They trap at their next instruction. A handler of SIGTRAP moves them to where that is now. It is
 * there until each thread has been seen elsewhere, or has run for longer than five bytes take.
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

/* NULL: a thread that is at that address or within four bytes behind it may trap now. Else the
 * reason why it may not. Waits a while for threads that block the signal for moments. */
const char *probe_traps_why_not(uint64_t address) HIDDEN;
/* Sets the handler; false: no. `moved_to` says where an instruction is now; 0: it was not moved. */
bool probe_traps_begin(uint64_t (*moved_to)(uint64_t pc)) HIDDEN;
/* The bytes are a jump now. */
void probe_traps_note(void) HIDDEN;
/* Takes the handler away when no thread needs it; true: it is still there. */
bool probe_traps_tick(void) HIDDEN;

#endif
