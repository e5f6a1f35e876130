/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a run that hangs on waits which nothing shortens is answered, or one that does not is
 * withheld. */
#include "replay/simulate.h"
#include "report/analysis.h"
#include "report/checks_parts.h"
#include "sketch.h"
#include "suite.h"

/* Main waits for a thread that, after 1 ms, waits for a signal that nobody sends. */
START_TEST(a_run_that_nothing_shortens_is_withheld)
{
	static const struct {
		double nap_ms;
		enum check_state state;
	} cases[] = { { 1, CHECK_WITHHOLDS }, { 25, CHECK_FAILED }, { 38, CHECK_PASSED } };
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sketch sketch;
		struct analysis analysis;
		char error[OPTIONS_ERROR_BYTES];
		sketch_begin(&sketch);
		sketch_join_two(&sketch, "stuck", "other", 40, 1);
		sketch_sleep(&sketch, 1, "nap", 0, cases[i].nap_ms);
		uint32_t wait =
			sketch_wait(&sketch, 1, REASON_COND, "C", cases[i].nap_ms, 40, NO_INDEX);
		sketch.rec.waits[wait].name = sketch_string(&sketch, "pthread_cond_wait");
		sketch_end(&sketch);
		ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
		const struct check *pinned = &analysis.checks.rows[CHECK_PINNED];
		ck_assert_double_eq_tol(pinned->value, 100 * (40 - cases[i].nap_ms) / 40, 0.01);
		ck_assert_int_eq(pinned->state, cases[i].state);
		if (i == 0)
			ck_assert_str_eq(
				pinned->line,
				"98% of the run remains if everything takes no time: thread "
				"`stuck` (2) waits in pthread_cond_wait for 98%; record what ends "
				"it too, or measure the change itself: wcprof try");
		analysis_free(&analysis);
		sketch_free(&sketch);
	}
}
END_TEST

/* Two runs of a program were written into one file. */
START_TEST(runs_that_follow_each_other_are_told_apart)
{
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};

	for (int is_beside = 0; is_beside < 2; is_beside++) {
		struct sketch sketch;
		struct analysis analysis;
		char error[OPTIONS_ERROR_BYTES];
		struct rec_process processes[] = { { .pid = 1, .ppid = 9 },
						   { .pid = 2, .ppid = 9 } };
		sketch_begin(&sketch);
		sketch.rec.processes = processes;
		sketch.rec.process_count = 2;
		sketch_thread(&sketch, "one", 0, is_beside ? 35 : 10);
		sketch_thread(&sketch, "two", 30, 40);
		processes[1].op = sketch_op(&sketch, KIND_PROCESS, "two", NO_INDEX, 30, 40);
		sketch.threads[1].process = 1;
		sketch_sleep(&sketch, 0, "nap", 0, is_beside ? 35 : 10);
		sketch_sleep(&sketch, 1, "nap", 30, 40);
		sketch_end(&sketch);
		ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
		const char *line = analysis.checks.rows[CHECK_PINNED].line;
		ck_assert((strstr(line, "its own file") != NULL) == !is_beside);
		ck_assert(strstr(line, "record from the start") == NULL);
		analysis_free(&analysis);
		sketch_free(&sketch);
	}
}
END_TEST

/* All changes together leave no more than one of them. */
START_TEST(one_change_bounds_all)
{
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};
	struct sketch sketch;
	struct analysis analysis;
	struct machine machine;
	struct check check = { .value = 0 };
	char error[OPTIONS_ERROR_BYTES];

	sketch_begin(&sketch);
	sketch_join_two(&sketch, "stuck", "other", 40, 1);
	sketch_sleep(&sketch, 1, "nap", 0, 1);
	sketch_wait(&sketch, 1, REASON_COND, "C", 1, 40, NO_INDEX);
	sketch_end(&sketch);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	machine_begin(&machine, &analysis.script, 0);
	const struct replayer replayer = simulate_replayer(&analysis.script, &machine);

	checks_pinned(&check, &analysis, &replayer);
	ck_assert_double_eq_tol(check.value, 97.5, 0.01);
	ck_assert_uint_gt(analysis.whatif.row_count, 0);
	analysis.whatif.rows[0].estimates[0].saved_ns = 30e6;
	checks_pinned(&check, &analysis, &replayer);
	ck_assert_double_eq_tol(check.value, 25, 0.01);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_run_that_nothing_shortens_is_withheld);
	TEST(runs_that_follow_each_other_are_told_apart);
	TEST(one_change_bounds_all);
}
