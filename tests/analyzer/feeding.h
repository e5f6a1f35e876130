/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two workers that put jobs for themselves, for the tests of what is made of that.
 *
 *     ms     0   1     10          20          30    35          50
 *     main       put
 *     one    wait root  put 3 a     put 1 long                   all told
 *     two    wait       wait b                 short wait
 *
 * A worker gives what it has done and takes the next job in one section of the lock.
 */
#ifndef WCPROF_TESTS_FEEDING_H
#define WCPROF_TESTS_FEEDING_H

#include "sketch.h"

enum { FEEDING_MAIN, FEEDING_ONE, FEEDING_TWO, FEEDING_JOBS = 5 };

static inline void feeding_waits(struct sketch *sketch, uint32_t thread, double from_ms,
				 double to_ms)
{
	sketch_wait(sketch, thread, REASON_COND, "C", from_ms, to_ms, NO_INDEX);
	sketch_hold(sketch, thread, "M", 3, to_ms, to_ms + 0.05);
}

/* It has done a job, puts so many more, and takes one. */
static inline void feeding_goes_on(struct sketch *sketch, uint32_t thread, double at_ms, int puts,
				   uint32_t woken)
{
	sketch_hold(sketch, thread, "M", 2, at_ms, at_ms + 0.1);
	for (int i = 0; i < puts; i++)
		sketch_link(sketch, thread, LINK_WAKE, "C", at_ms + 0.01 * (i + 1), !i && woken,
			    NO_INDEX);
}

static inline void feeding_ends(struct sketch *sketch)
{
	feeding_goes_on(sketch, FEEDING_TWO, 35, 0, 0);
	feeding_waits(sketch, FEEDING_TWO, 35.1, 50.2);
	feeding_goes_on(sketch, FEEDING_ONE, 50, 0, 0);
	uint32_t all = sketch_link(sketch, FEEDING_ONE, LINK_WAKE, "C", 50.05, 1, NO_INDEX);
	sketch->rec.links[all].all = true;
	for (uint32_t thread = FEEDING_ONE; thread <= FEEDING_TWO; thread++)
		sketch_wait(sketch, FEEDING_MAIN, REASON_JOIN, "",
			    thread == FEEDING_ONE ? 1.2 : 50.6, 50.6 + 0.1 * (thread - 1),
			    sketch->rec.threads[thread].op);
}

static inline void feeding_sketch(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 51);
	sketch_thread(sketch, "worker", 0, 50.5);
	sketch_thread(sketch, "worker", 0, 50.5);
	sketch_hold(sketch, FEEDING_MAIN, "M", 1, 1, 1.1);
	sketch_link(sketch, FEEDING_MAIN, LINK_WAKE, "C", 1.05, 1, NO_INDEX);
	for (uint32_t thread = FEEDING_ONE; thread <= FEEDING_TWO; thread++)
		sketch_hold(sketch, thread, "M", 2, 0.1 * thread, 0.1 * thread + 0.05);
	feeding_waits(sketch, FEEDING_ONE, 0.15, 1.15);
	sketch_sleep(sketch, FEEDING_ONE, "root", 1.2, 10);
	feeding_goes_on(sketch, FEEDING_ONE, 10, 3, 1);
	feeding_waits(sketch, FEEDING_TWO, 0.25, 10.15);
	sketch_sleep(sketch, FEEDING_ONE, "a", 10.1, 20);
	sketch_sleep(sketch, FEEDING_TWO, "b", 10.2, 30);
	feeding_goes_on(sketch, FEEDING_ONE, 20, 1, 0);
	sketch_sleep(sketch, FEEDING_ONE, "long", 20.1, 50);
	feeding_goes_on(sketch, FEEDING_TWO, 30, 0, 0);
	sketch_sleep(sketch, FEEDING_TWO, "short", 30.1, 35);
	feeding_ends(sketch);
	sketch_end(sketch);
}

#endif
