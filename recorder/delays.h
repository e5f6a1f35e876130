/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long threads waited for a CPU, as the kernel counts it; marks carry it into the recording.
 *
 * Belongs to the control thread, which alone has descriptors of its own to read
 * it with, and to whoever writes a dump.
 */
#ifndef WCPROF_DELAYS_H
#define WCPROF_DELAYS_H

#include "arena.h"

enum { DELAYS_TICK_MS = 50 };

/* Brings one thread's up to date, if it lives. In the slot's own process. */
void delays_update(struct slot *) HIDDEN;

/* Of all living threads: where a stretch of recording begins. */
void delays_update_all(struct arena *) HIDDEN;

/* Brings the delays of some living threads up to date, if it is time. */
void delays_tick(struct arena *, uint64_t now_ns) HIDDEN;

#endif
