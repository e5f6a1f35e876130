/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording of a server and its analysis, for the tests of comparisons.
 *
 * Thread 1 serves requests ("work", as the program itself says), one every 10 ms. Each sleeps in a
 * call of some length, which varies by a tenth, under the lock "table". Every second one writes.
 * Thread 2 waits for the lock at the same time.
 *
 * compared_begin() ... compared_end(). It may not be moved.
 */
#ifndef WCPROF_TESTS_COMPARED_H
#define WCPROF_TESTS_COMPARED_H

#include "random.h"
#include "report/analysis.h"
#include "sketch.h"

enum { COMPARED_REQUESTS = 200 };

struct compared {
	struct sketch sketch;
	struct options options;
	struct analysis analysis;
};

static inline void compared_serve(struct sketch *sketch, const char *call, double sleep_ms,
				  uint64_t seed)
{
	uint64_t state = seed + 1;
	for (int i = 0; i < COMPARED_REQUESTS; i++) {
		double at_ms = 10 * i;
		double varies = 0.9 + 0.0002 * (double)random_number(&state, 1000);
		double end_ms = at_ms + 1 + sleep_ms * varies;
		sketch_op(sketch, KIND_OP_USER, "work", 1, at_ms, end_ms);
		uint32_t hold = sketch_hold(sketch, 1, "table", 1, at_ms, end_ms - 0.5);
		sketch_sleep(sketch, 1, call, at_ms, at_ms + sleep_ms * varies);
		if (i % 2)
			sketch_io(sketch, 1, "write", "file", 9, end_ms - 0.4, end_ms - 0.1);
		uint32_t wait = sketch_wait(sketch, 2, REASON_MUTEX, "table", at_ms + 0.5,
					    end_ms - 0.5, hold);
		sketch->rec.waits[wait].ident = sketch_string(sketch, "table");
	}
}

static inline void compared_begin(struct compared *compared, const char *call, double sleep_ms,
				  uint64_t seed)
{
	char error[OPTIONS_ERROR_BYTES];
	struct sketch *sketch = &compared->sketch;
	compared->options = (struct options){
		.top = 10,
		.factors = { { 0, 0.5 }, 2 },
		.class_regex = "",
		.class_by = "function",
		.client = "",
		.thread_glob = "",
		.model = "threads",
		.to_ns = UINT64_MAX,
	};
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 10 * COMPARED_REQUESTS);
	sketch_thread(sketch, "server", 0, 10 * COMPARED_REQUESTS);
	sketch_thread(sketch, "other", 0, 10 * COMPARED_REQUESTS);
	sketch->process.exe = sketch_string(sketch, "/bin/server");
	sketch->process.cpus = 2;
	compared_serve(sketch, call, sleep_ms, seed);
	int failed =
		analysis_build(&compared->analysis, &sketch->rec, &compared->options, NULL, error);
	assert(!failed);
}

static inline void compared_end(struct compared *compared)
{
	analysis_free(&compared->analysis);
	sketch_free(&compared->sketch);
}

#endif
