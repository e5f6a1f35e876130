/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording of twenty requests, for the tests of what is told of them. Each sleeps for a
 * millisecond. The last one then waits five for a lock that thread 2 holds.
 *
 * The requests are the ops "work" of thread 1, class "work". slow_begin() ... slow_end().
 */
#ifndef WCPROF_TESTS_SLOW_REQUESTS_H
#define WCPROF_TESTS_SLOW_REQUESTS_H

#include "export/walk.h"
#include "sketch.h"

enum { SLOW_COUNT = 20 };

struct slow {
	struct sketch sketch;
	struct request requests[SLOW_COUNT];
	struct requests judged;
	uint32_t hold; /* that the last one waits for */
	struct walk walk;
};

/* The recording as it is now. */
static inline void slow_walk(struct slow *slow)
{
	walk_begin_plain(&slow->walk, &slow->sketch.rec, NULL);
	slow->walk.classes = &slow->sketch.classes;
	slow->walk.requests = &slow->judged;
	slow->walk.wakers->of_wait = memory_new(1, sizeof(struct waker));
	slow->walk.wakers->of_op = memory_new(SKETCH_MAX, sizeof(struct waker));
	slow->walk.wakers->of_wait[0] = (struct waker){ WAKER_OP_END, slow->hold };
}

static inline void slow_begin(struct slow *slow)
{
	struct sketch *sketch = &slow->sketch;
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 100);
	sketch_thread(sketch, "server", 0, 100);
	sketch_thread(sketch, "holder", 0, 100);
	for (uint32_t i = 0; i < SLOW_COUNT; i++) {
		bool is_slow = i == SLOW_COUNT - 1;
		double at_ms = 4 * i;
		uint32_t op = sketch_op(sketch, KIND_OP_USER, "work", 1, at_ms,
					at_ms + (is_slow ? 6 : 1));
		sketch_sleep(sketch, 1, "nap", at_ms, at_ms + 1);
		slow->requests[i] =
			(struct request){ .source = REQUEST_MARKED,
					  .taken_ns = (is_slow ? 6 : 1) * SKETCH_MS,
					  .start_ns = 4 * i * SKETCH_MS,
					  .end_ns = (4 * i + (is_slow ? 6 : 1)) * SKETCH_MS,
					  .op = op };
	}
	double late_ms = 4 * (SLOW_COUNT - 1);
	slow->hold = sketch_hold(sketch, 2, "lock", 1, late_ms, late_ms + 6);
	uint32_t wait =
		sketch_wait(sketch, 1, REASON_MUTEX, "lock", late_ms + 1, late_ms + 6, slow->hold);
	sketch->rec.waits[wait].ident = sketch_string(sketch, "lock");
	sketch_end(sketch);
	uint32_t class = sketch_class(sketch, "work");
	for (uint32_t i = 0; i < SLOW_COUNT; i++)
		slow->requests[i].class = class;
	slow->judged = (struct requests){ .requests = slow->requests,
					  .count = SLOW_COUNT,
					  .judged_class = class,
					  .judged_source = REQUEST_MARKED };
	slow_walk(slow);
}

static inline void slow_end(struct slow *slow)
{
	walk_end(&slow->walk);
	sketch_free(&slow->sketch);
}

#endif
