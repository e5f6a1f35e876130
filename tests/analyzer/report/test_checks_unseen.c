/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, an answer would be sure though a thread that ran all the time is not in it. */
#include "report/checks_parts.h"

#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

static const struct options options = {
	.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
};

static const struct {
	double process_ms; /* of CPU time, of which its only thread has used 30 of 100 ms */
	double own_ms;     /* of that: recording */
	bool is_another;   /* a window that is not the last one */
	enum check_state state;
	double percent;
} rows[] = {
	/* 0 */ { 30, 0, false, CHECK_PASSED, 0 },
	/* 1 */ { 39, 0, false, CHECK_PASSED, 9 },
	/* 2 */ { 130, 0, false, CHECK_FAILED, 100 },
	/* 3 */ { 130, 95, false, CHECK_PASSED, 5 },
	/* 4 */ { 231, 0, false, CHECK_WITHHOLDS, 201 },
	/* 5 */ { 130, 0, true, CHECK_UNKNOWN, 0 },
	/* 6: ended threads are counted to the last moment, the process is not */
	{ 20, 0, false, CHECK_PASSED, 0 },
};

START_TEST(cpu_time_of_no_thread_is_of_those_that_are_not_seen)
{
	struct rec_sample samples[] = {
		{ .thread = 0 }, { .thread = 0, .at_ns = 100 * SKETCH_MS, .cpu_ns = 30 * SKETCH_MS }
	};
	struct sketch sketch;
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	sketch_sleep(&sketch, 0, "nap", 10, 80);
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch.rec.processes[0].cpu_ns = (uint64_t)(rows[_i].process_ms * 1e6);
	sketch.rec.processes[0].own_window_ns = (uint64_t)(rows[_i].own_ms * 1e6);
	sketch.rec.has_last_window = !rows[_i].is_another;
	sketch_end(&sketch);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	const struct check *check = &analysis.checks.rows[CHECK_UNSEEN];
	ck_assert_msg(check->state == rows[_i].state, "%g: %s", check->value, check->line);
	ck_assert_double_eq_tol(check->value, rows[_i].percent, 0.5);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(cpu_time_of_no_thread_is_of_those_that_are_not_seen, rows);
}
