/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads of a sketch share pieces out, in rounds with a barrier behind each.
 *
 * The pieces in the order in which they are taken: twice a long one and four short ones, then four
 * more of these. Thread 1 does both long ones and two short ones, thread 2 the others, in 20 ms.
 */
#ifndef WCPROF_TESTS_SHARING_H
#define WCPROF_TESTS_SHARING_H

#include "sketch.h"

enum { SHARING_WORK_MS = 20, SHARING_LONG_MS = 8, SHARING_SHORT_MS = 2, SHARING_PIECES = 14 };

#define SHARING_BARRIER_MS 0.5
#define SHARING_ROUND_MS   (SHARING_WORK_MS + SHARING_BARRIER_MS)

static inline void sharing_work(struct sketch *sketch, uint32_t thread, const char *name,
				double length_ms, double from_ms, double to_ms)
{
	for (double at_ms = from_ms; at_ms < to_ms - 0.001; at_ms += length_ms)
		sketch_sleep(sketch, thread, name, at_ms, at_ms + length_ms);
}

/* The first thread comes last. */
static inline void sharing_meet(struct sketch *sketch, double two_ms, double at_ms)
{
	for (uint32_t i = 1; i <= 2; i++)
		sketch_wait(sketch, i, REASON_BARRIER, "barrier", i == 2 ? two_ms : at_ms,
			    at_ms + SHARING_BARRIER_MS, NO_INDEX);
	sketch_link(sketch, 1, LINK_WAKE, "barrier", at_ms + SHARING_BARRIER_MS, 1, NO_INDEX);
}

static inline void sharing_threads(struct sketch *sketch, double end_ms)
{
	sketch_begin(sketch);
	sketch_join_two(sketch, "one", "two", end_ms, end_ms);
}

/* Rounds from the start on. */
static inline void sharing_rounds(struct sketch *sketch, int count)
{
	for (int i = 0; i < count; i++) {
		double from_ms = i * SHARING_ROUND_MS, to_ms = from_ms + SHARING_WORK_MS;

		sharing_work(sketch, 1, "long", SHARING_LONG_MS, from_ms,
			     from_ms + 2 * SHARING_LONG_MS);
		sharing_work(sketch, 1, "short", SHARING_SHORT_MS, from_ms + 2 * SHARING_LONG_MS,
			     to_ms);
		sharing_work(sketch, 2, "short", SHARING_SHORT_MS, from_ms, to_ms);
		sharing_meet(sketch, to_ms, to_ms);
	}
}

#endif
