/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of recording to the process: an estimate of its CPU time, in nanoseconds.
 *
 * Events are counted, and the meter tells what one costs (meter.h). Slow paths are timed where they
 * are: new stacks, threads that begin and end, memory, recording on and off, fork. The control
 * thread's CPU clock has the rest. Not in it: what uncontended locks cost, of which nothing is
 * written, and what the program's own code loses by it, as caches and wake-ups.
 *
 * A thread's part is in its slot, those of ended threads in the arena: it survives the process.
 */
#ifndef WCPROF_OWNCOST_H
#define WCPROF_OWNCOST_H

#include "arena.h"

struct owncost {
	uint64_t events_ns;
	uint64_t slow_ns;
	uint64_t control_ns; /* of the control thread, but for dumps */
	uint64_t dumps_ns;   /* of that thread, as it wrote dumps */
};

/* The process's. No data of a stack: that of a program which ends is small. */
struct owncost_reading {
	struct owncost all;    /* since the arena was made */
	struct owncost window; /* in the last window */
	struct process_cost counts;
};

static inline uint64_t owncost_sum(const struct owncost *cost)
{
	return cost->events_ns + cost->slow_ns + cost->control_ns + cost->dumps_ns;
}

/* A thread has begun in this slot: of the process's first one, all slow paths so far were its
 * start. Two that begin at one time may each be taken for the first. */
void owncost_thread_begun(struct arena *, const struct slot *) HIDDEN;
/* The thread with this slot ends: its part goes to the arena. */
void owncost_thread_ends(struct arena *, struct slot *) HIDDEN;

/* The control thread's: takes its CPU time down. Often: whoever reads it later cannot ask. */
void owncost_note_control(void) HIDDEN;
/* The same thread: so much of that was for a dump. */
void owncost_note_dump(uint64_t cpu_ns) HIDDEN;
/* The same thread is about to end. */
void owncost_control_ends(void) HIDDEN;
/* In a forked child. */
void owncost_fork_child(void) HIDDEN;

/* A window begins. Whoever turns recording on. */
void owncost_begin_window(struct arena *) HIDDEN;

/* `rate` as of clock_own_rate(). Any thread, also of another process; what is just being written
 * may be missing. */
void owncost_read(const struct arena *, uint64_t rate, struct owncost_reading *) HIDDEN;

#endif
