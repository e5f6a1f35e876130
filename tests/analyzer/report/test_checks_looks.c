/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a run that waits for a thread to look again would get answers.
 */
#include "report/checks_parts.h"

#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

/* Main naps until a thread has ended, and then writes; or joins it, which makes it sure; or joins
 * it at once. */
enum { NAPS_AND_WRITES, NAPS_AND_JOINS, JOINS, WAYS };

START_TEST(a_run_that_waits_for_guessed_looks_is_withheld)
{
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};

	for (int way = 0; way < WAYS; way++) {
		int naps = way != JOINS;
		struct sketch sketch;
		struct analysis analysis;
		char error[OPTIONS_ERROR_BYTES];
		sketch_begin(&sketch);
		sketch_thread(&sketch, "main", 0, 50);
		sketch_thread(&sketch, "worker", 0, naps ? 48 : 50);
		if (way != NAPS_AND_WRITES)
			sketch_link(&sketch, 0, LINK_SPAWN, "", 0, 0, sketch.rec.threads[1].op);
		for (int i = 0; i < 10 * naps; i++)
			sketch_sleep(&sketch, 0, "nap", 5 * i, 5 * (i + 1));
		if (way == NAPS_AND_WRITES)
			sketch_io(&sketch, 0, "write", "", 1, 50, 50);
		else
			sketch_wait(&sketch, 0, REASON_JOIN, "", naps ? 50 : 0, 50,
				    sketch.rec.threads[1].op);
		sketch_end(&sketch);
		ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
		const struct check *check = &analysis.checks.rows[CHECK_LOOKS];
		ck_assert_int_eq(check->state,
				 way == NAPS_AND_WRITES ? CHECK_WITHHOLDS : CHECK_PASSED);
		ck_assert_double_eq_tol(check->value, way == NAPS_AND_WRITES ? 100 : 0, 1e-6);
		ck_assert((way == NAPS_AND_WRITES) ==
			  (strstr(check->line, "`main` (1) sleeps in `nap`") != NULL));
		ck_assert((way == NAPS_AND_WRITES) == (strstr(check->line, "`worker`") != NULL));
		analysis_free(&analysis);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	TEST(a_run_that_waits_for_guessed_looks_is_withheld);
}
