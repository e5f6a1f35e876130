/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one clock of the recorder: ticks when recording, nanoseconds when reading a recording.
 *
 * A tick is one of the time stamp counter's where the kernel itself trusts that counter, else one
 * nanosecond of CLOCK_MONOTONIC. Ticks are comparable between threads and processes of one boot.
 * Any thread may call anything here; clock_start() comes first, once.
 */
#ifndef WCPROF_CLOCK_H
#define WCPROF_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

#include "format.h"
#include "recorder.h"

/* Written by clock_start() and by tests; 0 = clock_test_ticks is read instead. */
extern uint32_t clock_kind HIDDEN;
extern uint64_t clock_test_ticks HIDDEN;

void clock_start(void) HIDDEN;
uint64_t clock_slow_ticks(void) HIDDEN;

static inline uint64_t clock_now_ticks(void)
{
	return LIKELY(clock_kind == CLOCK_KIND_TSC) ? __rdtsc() : clock_slow_ticks();
}

/* As in the kernel's posix-timers: the clock that the scheduler keeps, of one thread. */
static inline int clock_id_of(uint32_t tid)
{
	enum { CLOCK_OF_SCHEDULER = 2, CLOCK_OF_THREAD = 4 };

	return (int)(~tid << 3 | CLOCK_OF_SCHEDULER | CLOCK_OF_THREAD);
}

/* CPU time that the calling thread has used. */
uint64_t clock_thread_cpu_ns(void) HIDDEN;
/* The same of a thread of this process; false when there is none with that id. */
bool clock_cpu_ns_of(uint32_t tid, uint64_t *cpu_ns) HIDDEN;

/* Now on all three clocks: the closest of several tries. */
struct clock_pair clock_take_pair(void) HIDDEN;
/*
 * Nanoseconds per tick, times 2^32, between a moment and now; waits until they are `apart_ns`
 * apart. The error is that of two pairs, some 50 ns, over the distance. A recording that ends now
 * needs no more than its own length; one that goes on for hours needs CLOCK_APART_NS at least.
 */
enum { CLOCK_APART_NS = 20000000, CLOCK_APART_LEAST_NS = 100000 };
uint64_t clock_measure_rate(const struct clock_pair *from, uint32_t kind, uint64_t apart_ns) HIDDEN;
/* The same for this process's own clock, since clock_start(); a forked child inherits what is
 * known. */
uint64_t clock_own_rate(uint64_t apart_ns) HIDDEN;

/* Ticks of a length of time, good to a thousandth; 0 of 0. */
uint64_t clock_ticks_of(uint64_t ns) HIDDEN;

/* Of another process's clock, which began at the scale's base: since then, which is the most exact,
 * if that agrees with ours. In a time name space of its own CLOCK_MONOTONIC is another one. Never
 * waits for longer than `apart_ns`. */
uint64_t clock_rate_of(const struct clock_scale *scale, uint64_t apart_ns) HIDDEN;

uint64_t clock_mono_ns(void) HIDDEN;
/* The ticks of a moment of CLOCK_MONOTONIC; those of now for one that is to come. */
uint64_t clock_ticks_at(uint64_t mono_ns) HIDDEN;

/* Nanoseconds since the scale's base; 0 for what came before it. */
static inline uint64_t clock_to_ns(const struct clock_scale *scale, uint64_t ticks)
{
	if (UNLIKELY(ticks < scale->base.ticks))
		return 0;
	return (uint64_t)(((unsigned __int128)(ticks - scale->base.ticks) * scale->mult) >> 32);
}

#endif
