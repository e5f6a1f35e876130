/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory near a jump: the instructions that it took the place of, and the way to probe_through.S.
 *
 * The control thread only.
 */
#ifndef WCPROF_PROBE_HOP_H
#define WCPROF_PROBE_HOP_H

#include "probe_hit.h"

enum {
	PROBE_HOP_CODE = 32, /* where the moved instructions begin */
	PROBE_JUMP = 0xe9,   /* then four bytes of distance */
	PROBE_TRAP = 0xcc
};

/* The signals that a thread gets at the order's marks, as bits. It is SIGILL where the highest byte
 * of a positive distance is a mark, else SIGTRAP. */
uint32_t probe_hop_signals(const struct probe_order *) HIDDEN;

/* Maps it for the probe of that number, where a jump's distance has traps at the order's marks. 0:
 * there is no room within reach. */
uint64_t probe_hop_make(const struct probe_order *, uint32_t index) HIDDEN;

#endif
