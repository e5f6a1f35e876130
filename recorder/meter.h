/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter: a few calls of a thread tell how long calls of the recorder take.
 *
 * The meter runs at the begin of each chunk that a thread takes, until METER_EVENTS more events
 * are written. Meanwhile the thread looks at the clock whenever it enters or leaves the recorder.
 * So the time per event has all of it: begin, end, misses of the cache, calls that came to no
 * event. Other calls pay nothing: for the meter the thread forgets where its errno is, so that both
 * ends of a call come by here.
 *
 * Slow paths are timed one by one, and are not metered: by the thread's CPU time, as they may block
 * or lose their CPU. That clock takes longer than a short one does: the capture of a stack, or a
 * chunk that is asked for in vain. These are timed by ticks, of which METER_TICKS_MOST count.
 *
 * All functions are for the thread whose `self` it is, and async-signal-safe.
 */
#ifndef WCPROF_METER_H
#define WCPROF_METER_H

#include "clock.h"
#include "self.h"

/* More is no call of the recorder, but the thread lost its CPU: 15 to 33 us at 2 to 4 GHz. */
enum { METER_EVENTS = 16, METER_TICKS_MOST = 1 << 16 };

/* The thread has taken a chunk, and writes from self.position on; it gives that chunk up. */
void meter_chunk_taken(struct self *) HIDDEN;
void meter_chunk_left(struct self *) HIDDEN;

/* Of self.h, while errno_at is NULL. Both return where the thread's errno is. */
int *meter_enter(struct self *) HIDDEN;
int *meter_leave(struct self *) HIDDEN;

/* A slow path of a thread inside the recorder. */
struct slow_path {
	/* ns of the thread's CPU time, or ticks; 0 = inside another one, whose time it is */
	uint64_t begun;
};

static inline struct slow_path slow_path_begin(struct self *self)
{
	struct slow_path path = { self->is_slow ? 0 : clock_thread_cpu_ns() };

	self->is_slow = 1;
	return path;
}

void slow_path_end(struct self *, const struct slow_path *) HIDDEN;

static inline struct slow_path short_path_begin(struct self *self)
{
	struct slow_path path = { self->is_slow ? 0 : clock_now_ticks() };

	self->is_slow = 1;
	return path;
}

void short_path_end(struct self *, const struct slow_path *) HIDDEN;

/* Of a new arena: slow paths so far were its making. */
void meter_arena_made(struct arena *) HIDDEN;
/* In a forked child. */
void meter_fork_child(void) HIDDEN;

#endif
