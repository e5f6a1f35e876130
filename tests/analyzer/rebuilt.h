/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs by programs that could be built differently, followed with pencil and paper.
 */
#ifndef WCPROF_TESTS_REBUILT_H
#define WCPROF_TESTS_REBUILT_H

#include "sketch.h"

/* Main starts two threads of one class at 0 and joins them. */
static inline void rebuilt_two(struct sketch *sketch, double end_1_ms, double end_2_ms)
{
	sketch_begin(sketch);
	sketch_join_two(sketch, "worker", "worker", end_1_ms, end_2_ms);
}

/* Ten times: lock, 10 ms, unlock, 2 ms; never both inside: 202 ms. */
static inline void rebuilt_lock(struct sketch *sketch)
{
	rebuilt_two(sketch, 192, 202);
	for (int i = 0; i < 10; i++) {
		double one_ms = 20 * i, two_ms = one_ms + 10;

		sketch_wait(sketch, 1, REASON_MUTEX, "M", i ? one_ms - 8 : 0, one_ms, NO_INDEX);
		sketch_hold(sketch, 1, "M", 1, one_ms, one_ms + 10);
		sketch_sleep(sketch, 1, "out", one_ms + 10, one_ms + 12);
		sketch_wait(sketch, 2, REASON_MUTEX, "M", i ? two_ms - 8 : 0, two_ms, NO_INDEX);
		sketch_hold(sketch, 2, "M", 2, two_ms, two_ms + 10);
		sketch_sleep(sketch, 2, "out", two_ms + 10, two_ms + 12);
	}
	sketch_end(sketch);
}

/* Eight jobs come through a pipe at 0, each takes 10 ms: 40 ms. */
static inline void rebuilt_pool(struct sketch *sketch)
{
	rebuilt_two(sketch, 40, 40);
	for (int i = 0; i < 8; i++)
		sketch_io(sketch, 0, "write", "pipe:[1]", 10, 0, 0);
	for (int i = 0; i < 4; i++) {
		for (uint32_t worker = 1; worker <= 2; worker++) {
			sketch_io(sketch, worker, "read", "pipe:[1]", 10, 10 * i, 10 * i);
			sketch_sleep(sketch, worker, "job", 10 * i, 10 * i + 10);
		}
	}
	sketch_end(sketch);
}

#endif
