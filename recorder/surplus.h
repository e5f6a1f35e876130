/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the arena has and does not need: of chunks that were emptied, more than are used.
 *
 * Memory that was written before costs nothing; new memory is found and cleared by the kernel. So
 * as much is kept as was used in the last minute, and a window finds the memory of the one before.
 * Beyond its bound (room.h) the arena keeps hardly any. All is the control thread's.
 */
#ifndef WCPROF_SURPLUS_H
#define WCPROF_SURPLUS_H

#include "arena.h"

static const uint64_t surplus_period_ns = UINT64_C(60000000000);

/* Gives back what is due, whether recording is on or off. */
void surplus_tick(struct arena *, uint64_t now_ns) HIDDEN;
/* How long until something is due, if nothing happens meanwhile; -1: nothing will be. */
int surplus_wait_ms(const struct arena *, uint64_t now_ns) HIDDEN;
/* In a forked child. */
void surplus_forget(void) HIDDEN;

#endif
