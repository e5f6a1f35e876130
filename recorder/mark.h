/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks: how much CPU time a thread had used by a point in time, and on which processor it was.
 *
 * A blocked thread uses none. So marks at the ends of the calls in which it may have been blocked
 * give exactly the time that it used in between. Belongs to the thread whose `self` it is.
 */
#ifndef WCPROF_MARK_H
#define WCPROF_MARK_H

#include "clock.h"
#include "self.h"

/*
 * Marks of one thread lie at least so far apart: 130 to 260 us at 2 to 4 GHz. Reading the clock is
 * a system call of 300 to 500 ns, and the thread is slower after it: a mark costs 1 to 2 us. At a
 * quarter of this distance marks took 3 to 4% of a server's CPU time, and no prediction was better.
 */
enum { MARK_GAP_TICKS = 1 << 19 };

/* The gap, or MARK_NEVER. Written at load. */
#define MARK_NEVER UINT64_MAX
extern uint64_t mark_gap_ticks HIDDEN;

/* Does nothing when marks are not wanted. */
void mark_write(struct self *, uint64_t now_ticks) HIDDEN;

/* The same of a moment that has passed, by any thread. The op is the thread's, which had used so
 * much by then, and waited so long for a CPU. */
void mark_of(struct self *, uint64_t op, uint64_t delay_ns, uint64_t at_ticks,
	     uint64_t cpu_ns) HIDDEN;

/* The same whether marks are wanted or not, with a stack. */
void mark_sample(struct self *, uint64_t now_ticks, uint32_t stack) HIDDEN;

/* As the process ends, or recording is turned off: its CPU time and each thread's, for a reader of
 * the arena. */
void mark_last(struct arena *) HIDDEN;

/* At the end of a call that may have blocked. */
static inline void mark_if_due(struct self *self, uint64_t now_ticks)
{
	if (UNLIKELY(now_ticks - self->marked_ticks >= mark_gap_ticks))
		mark_write(self, now_ticks);
}

#endif
