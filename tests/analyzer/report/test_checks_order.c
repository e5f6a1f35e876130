/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, answers that rest on the recorded order of events would seem sure.
 */
#include "report/checks_parts.h"

#include "event_loop.h"
#include "report/analysis.h"
#include "suite.h"

/* An event loop with two connections, of which one is asked more often if its class is faster.
 * With a stranger the loop keeps its order. */
START_TEST(a_loop_that_keeps_its_order_is_said)
{
	struct event_loop uneven = { .rounds = 10, .a_ms = 5, .b_ms = 4.03, .end_ms = 60 };
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};

	for (int is_met = 0; is_met < 2; is_met++) {
		struct sketch sketch;
		struct analysis analysis;
		char error[OPTIONS_ERROR_BYTES];
		uneven.stranger_ms = is_met ? 0.1 : 0;
		event_loop_sketch(&sketch, &uneven);
		ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
		const struct check *check = &analysis.checks.rows[CHECK_ORDER];
		ck_assert_int_eq(check->state, is_met ? CHECK_WITHHOLDS : CHECK_PASSED);
		ck_assert(is_met == (strstr(check->line, "`work_a` (sleep)") != NULL));
		ck_assert(is_met == (strstr(check->line, "thread `loop` (2)") != NULL));
		analysis_free(&analysis);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	TEST(a_loop_that_keeps_its_order_is_said);
}
