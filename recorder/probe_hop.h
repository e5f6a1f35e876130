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

/* Maps it for the probe of that number, where a jump's distance has traps at the order's marks. 0:
 * there is no room within reach. */
uint64_t probe_hop_make(const struct probe_order *, uint32_t index) HIDDEN;

#endif
