/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a run that waits for a thread to look again would get answers.
 */
#include "report/checks_parts.h"

#include "client_server.h"
#include "report/analysis.h"
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

/* Main naps until a client asks, of which nothing is recorded: another thread polls for it. */
START_TEST(a_client_is_looked_for)
{
	static const char connection[] = "tcp 10.0.0.1:80>10.0.0.2:4000";
	const struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};
	struct sketch sketch;
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 52);
	sketch_thread(&sketch, "poller", 0, 52);
	served_poll(&sketch, 1, 1, 0, 49);
	for (int i = 0; i < 10; i++)
		sketch_sleep(&sketch, 0, "nap", 5 * i, 5 * (i + 1));
	served_request(&sketch, 0, connection, 50, 50, 1);
	sketch_end(&sketch);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	ck_assert_uint_eq(analysis.script.clients.count, 1);
	ck_assert_uint_eq(analysis.script.looks.rows[0].ender, 2);
	const struct check *check = &analysis.checks.rows[CHECK_LOOKS];
	ck_assert_int_eq(check->state, CHECK_WITHHOLDS);
	ck_assert_msg(strstr(check->line, "`a client`") != NULL, "%s", check->line);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_run_that_waits_for_guessed_looks_is_withheld);
	TEST(a_client_is_looked_for);
}
