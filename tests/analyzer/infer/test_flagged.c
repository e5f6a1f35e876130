/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that ends by itself seems to be stopped by a flag, or one that is stopped seems
 * to end by itself. */
#include "infer/flagged.h"

#include "sketch.h"
#include "suite.h"

static const struct {
	double joins_ms; /* main wakes up, and waits for the worker */
	double end_ms;   /* of the worker */
	double piece_ms; /* of its work */
	bool is_flagged;
} rows[] = {
	/* 0 */ { 100, 103, 5, true },
	/* 1: it had ended before */ { 100, 99, 5, false },
	/* 2: it had more to do */ { 100, 150, 5, false },
	/* 3: it cannot have looked */ { 100, 103, 50, false },
};

START_TEST(a_thread_that_ends_at_once_was_told)
{
	struct sketch sketch;
	size_t count;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 200);
	sketch_thread(&sketch, "worker", 0, rows[_i].end_ms);
	sketch_sleep(&sketch, 0, "nap", 0, rows[_i].joins_ms);
	for (double at_ms = 0; at_ms < rows[_i].end_ms; at_ms += rows[_i].piece_ms)
		sketch_io(&sketch, 1, "work", "", 1, at_ms, at_ms + rows[_i].piece_ms);
	sketch_wait(&sketch, 0, REASON_JOIN, "", rows[_i].joins_ms,
		    rows[_i].end_ms > rows[_i].joins_ms ? rows[_i].end_ms : rows[_i].joins_ms,
		    sketch.rec.threads[1].op);
	sketch_end(&sketch);
	struct flagged *flagged = flagged_find(&sketch.rec, &sketch.classes, &count);
	ck_assert_uint_eq(count, rows[_i].is_flagged);
	if (count) {
		ck_assert_uint_eq(flagged[0].thread, 1);
		ck_assert_uint_eq(flagged[0].teller, 0);
		ck_assert_uint_eq(flagged[0].joins_ns, (uint64_t)(rows[_i].joins_ms * 1e6));
	}
	free(flagged);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_thread_that_ends_at_once_was_told, rows);
}
