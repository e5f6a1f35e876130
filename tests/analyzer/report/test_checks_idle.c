/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, an idle server would be told that its own timer is what it waits for.
 */
#include "report/checks_parts.h"

#include "client_server.h"
#include "infer/timers.h"
#include "report/analysis.h"
#include "suite.h"

enum { TICKS = 30, TICK_MS = 10 };

static const struct {
	bool has_ended;  /* the program, with the recording */
	bool is_asked;   /* in each tick */
	bool sleeps;     /* and does not poll */
	double works_ms; /* in each tick, on something that takes so long */
	enum check_state state;
	double percent;
} rows[] = {
	/* 0 */ { false, false, false, 0.5, CHECK_WITHHOLDS, 95 },
	/* 1: a program of its own */ { true, false, false, 0.5, CHECK_PASSED, 0 },
	/* 2 */ { false, true, false, 0.5, CHECK_PASSED, 0 },
	/* 3: nobody could ask it */ { false, false, true, 0.5, CHECK_PASSED, 0 },
	/* 4 */ { false, false, false, 3, CHECK_FAILED, 70 },
	/* 5 */ { false, false, false, 6, CHECK_PASSED, 40 },
};

static void tick(struct sketch *sketch, size_t row, double from_ms)
{
	double to_ms = from_ms + TICK_MS, poll_ms = to_ms - rows[row].works_ms;

	uint32_t first = (uint32_t)sketch->rec.op_count;

	if (rows[row].sleeps)
		sketch_sleep(sketch, 0, "nanosleep", from_ms, poll_ms);
	else
		served_poll(sketch, 0, 0, from_ms, poll_ms);
	sketch->rec.ops[first].outcome = OUTCOME_OK;
	if (rows[row].is_asked)
		served_request(sketch, 0, "tcp 1.2.3.4:80>1.2.3.4:5001", poll_ms - 1, poll_ms, 0);
	sketch_io(sketch, 0, "write", "file /x", 1, poll_ms, to_ms);
}

START_TEST(a_program_that_nobody_asks_is_idle)
{
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};
	struct sketch sketch;
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, TICKS * TICK_MS);
	for (int i = 0; i < TICKS; i++)
		tick(&sketch, (size_t)_i, i * TICK_MS);
	sketch.rec.extras[sketch.rec.processes[0].op].open = !rows[_i].has_ended;
	sketch_end(&sketch);
	timers_find(&sketch.rec);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	const struct check *check = &analysis.checks.rows[CHECK_IDLE];

	ck_assert_msg(check->state == rows[_i].state, "%g: %s", check->value, check->line);
	ck_assert_double_eq_tol(check->value, rows[_i].percent, 0.5);
	ck_assert_int_eq(strstr(check->line, "`main` (1) waits in") != NULL,
			 rows[_i].state != CHECK_PASSED);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

/* Each of its threads is in one long call, or one computes. */
START_TEST(a_program_of_which_nothing_is_seen_is_idle_if_it_uses_no_cpu)
{
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};
	struct sketch sketch;
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];

	sketch_begin(&sketch);
	sketch.rec.process_count = 1;
	sketch.rec.processes[0].op = sketch_op(&sketch, KIND_PROCESS, "program", NO_INDEX, 0, 1000);
	sketch.rec.processes[0].cpu_ns = (_i ? 500 : 20) * SKETCH_MS;
	struct rec_op_extra *extras = sketch.rec.extras;
	struct rec_window window = { 0, 1000 * SKETCH_MS, 0, true };

	sketch.rec.extras = NULL; /* no event has any */
	sketch.rec.windows = &window;
	sketch.rec.window_count = 1;
	sketch_end(&sketch);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	const struct check *check = &analysis.checks.rows[CHECK_IDLE];

	ck_assert_int_eq(check->state == CHECK_WITHHOLDS, !_i);
	ck_assert_int_eq(strstr(check->line, "no thread of `program` (1) did anything") != NULL,
			 !_i);
	analysis_free(&analysis);
	sketch.rec.extras = extras;
	sketch.rec.windows = NULL;
	sketch.rec.window_count = 0;
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(a_program_of_which_nothing_is_seen_is_idle_if_it_uses_no_cpu, 0, 2);
	EACH(a_program_that_nobody_asks_is_idle, rows);
}
