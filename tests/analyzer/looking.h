/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that the replay gets wrong by construction, and its twin that it gets right.
 *
 * A thread syncs again and again, which takes 1 to 2 ms, and writes. Main waits for its end. It
 * joins the thread, or naps until it has synced so often: which of the syncs that is, is not known.
 */
#ifndef WCPROF_TESTS_LOOKING_H
#define WCPROF_TESTS_LOOKING_H

#include "random.h"
#include "sketch.h"

enum { LOOKING_ROUNDS = 400 };

static inline void looking_sketch(struct sketch *sketch, bool looks)
{
	double at_ms[LOOKING_ROUNDS + 1] = { 0 };
	uint64_t state = 5;

	for (int i = 0; i < LOOKING_ROUNDS; i++)
		at_ms[i + 1] = at_ms[i] + 1.1 + (double)random_number(&state, 1000001) / 1e6;
	double end_ms = at_ms[LOOKING_ROUNDS];
	int naps = looks ? (int)(end_ms / 5) + 1 : 0;

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, looks ? 5 * naps : end_ms);
	sketch_thread(sketch, "worker", 0, looks ? 5 * naps : end_ms);
	sketch->rec.extras[sketch->rec.threads[1].op].open = looks;
	sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[1].op);
	for (int i = 0; i < LOOKING_ROUNDS; i++) {
		sketch_io(sketch, 1, "sync", "file log", 1, at_ms[i], at_ms[i + 1] - 0.1);
		sketch_io(sketch, 1, "write", "file log", 1, at_ms[i + 1] - 0.1, at_ms[i + 1]);
	}
	for (int i = 0; i < naps; i++)
		sketch_sleep(sketch, 0, "nap", 5 * i, 5 * (i + 1));
	if (!looks)
		sketch_wait(sketch, 0, REASON_JOIN, "", 0, end_ms, sketch->rec.threads[1].op);
	sketch_end(sketch);
}

#endif
