/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, waits that a faster program would not have would seem sure. Or those that it
 * would have be doubted, as well as answers where nothing hangs on the threads.
 */
#include "report/checks_parts.h"

#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

#include <string.h>

enum { ROUNDS = 10, PERIOD_MS = 10, REST_MS = 20, END_MS = PERIOD_MS * ROUNDS + REST_MS };

enum late { NOBODY, PASSES, SIGNALS, IDLE };

/* The putter works, and lets all go on that wait. One comes later, and finds it done; or it does
 * something for others itself. In the end the putter waits for the first taker, but where the
 * takers are idle. */
static void sketch_fill(struct sketch *sketch, enum late late)
{
	sketch_begin(sketch);
	for (uint32_t t = 0; t < 3; t++)
		sketch_thread(sketch, t ? "taker" : "putter", 0, END_MS);
	for (int i = 0; i < ROUNDS; i++) {
		double from_ms = PERIOD_MS * i, put_ms = from_ms + 5;
		sketch_sleep(sketch, 0, "work", from_ms, put_ms);
		sketch_hold(sketch, 0, "M", 1, put_ms, put_ms + 0.1);
		sketch->rec
			.links[sketch_link(sketch, 0, LINK_WAKE, "C", put_ms + 0.05, 1, NO_INDEX)]
			.all = true;
		sketch_hold(sketch, 1, "M", 2, from_ms, from_ms + 0.1);
		sketch_wait(sketch, 1, REASON_COND, "C", from_ms + 0.1, put_ms + 0.2, NO_INDEX);
		sketch_hold(sketch, 1, "M", 3, put_ms + 0.2, put_ms + 0.3);
		if (late != NOBODY)
			sketch_hold(sketch, 2, "M", 2, put_ms + 1, put_ms + 1.1);
		if (late != SIGNALS)
			continue;
		sketch_hold(sketch, 2, "M", 4, put_ms + 2, put_ms + 2.2);
		sketch_link(sketch, 2, LINK_WAKE, "C", put_ms + 2.1, 0, NO_INDEX);
	}
	sketch_sleep(sketch, late == IDLE ? 0 : 1, "rest", END_MS - REST_MS, END_MS);
	if (late != IDLE)
		sketch_wait(sketch, 0, REASON_JOIN, "", END_MS - REST_MS, END_MS,
			    sketch->rec.threads[1].op);
	sketch_end(sketch);
}

START_TEST(who_waits_now_and_then_is_said)
{
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};
	struct sketch sketch;
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	bool is_found = _i == PASSES;
	sketch_fill(&sketch, (enum late)_i);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	const struct check *check = &analysis.checks.rows[CHECK_UNRULY];
	ck_assert_int_eq(check->state, is_found ? CHECK_FAILED : CHECK_PASSED);
	ck_assert(is_found == (check->value > 30));
	ck_assert(is_found == (strstr(check->line, "`taker`") != NULL));
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(who_waits_now_and_then_is_said, NOBODY, IDLE + 1);
}
