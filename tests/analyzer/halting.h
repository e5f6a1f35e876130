/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread 1 of a sketch sleeps, and now and then halts others for as long as it works.
 */
#ifndef WCPROF_TESTS_HALTING_H
#define WCPROF_TESTS_HALTING_H

#include "sketch.h"

/* It sleeps until 20 and 45 ms, works for 0.4 ms, and lets all go on who wait; then it sleeps. */
enum { HALTING_FIRST_MS = 20, HALTING_SECOND_MS = 45 };

#define HALTING_WORKS_MS 0.4

static inline void halting_sleep(struct sketch *sketch, double from_ms, double to_ms)
{
	uint32_t wait = sketch_wait(sketch, 1, REASON_FUTEX, "timer", from_ms, to_ms, NO_INDEX);

	sketch->rec.waits[wait].timed_out = true;
}

static inline void halting_open(struct sketch *sketch, double at_ms)
{
	uint32_t link = sketch_link(sketch, 1, LINK_WAKE, "gate", at_ms, 1, NO_INDEX);

	sketch->rec.links[link].all = true;
}

/* A thread is halted, and comes back at once. */
static inline void halting_wait(struct sketch *sketch, uint32_t thread, double from_ms,
				double to_ms)
{
	sketch_wait(sketch, thread, REASON_FUTEX, "gate", from_ms, to_ms, NO_INDEX);
}

static inline void halting_thread(struct sketch *sketch, double end_ms)
{
	const double works_from_ms[] = { HALTING_FIRST_MS, HALTING_SECOND_MS };
	double from_ms = 0;

	sketch_thread(sketch, "halting", 0, end_ms);
	for (int i = 0; i < 2; i++) {
		halting_sleep(sketch, from_ms, works_from_ms[i]);
		from_ms = works_from_ms[i] + HALTING_WORKS_MS;
		halting_open(sketch, from_ms);
	}
	sketch->rec.waits[sketch_wait(sketch, 1, REASON_FUTEX, "timer", from_ms, end_ms, NO_INDEX)]
		.open = true;
}

#endif
