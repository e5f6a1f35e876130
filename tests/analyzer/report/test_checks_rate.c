/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, faster work would seem to end a run sooner that goes on at a limit of its rate.
 */
#include "report/checks_parts.h"

#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

#include <string.h>

enum { THREADS = 3, CALLS = 60, DISTANCE_MS = 5 };

static const struct options options = {
	.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
};

static const struct {
	double rest_ms; /* work behind all calls */
	enum check_state state;
} rows[] = { { 0, CHECK_WITHHOLDS }, { 500, CHECK_FAILED }, { 5000, CHECK_PASSED } };

/* Calls come when they come, and wait until they are due. */
static void call(struct sketch *sketch, int number)
{
	double due_ms = 20 + DISTANCE_MS * number;
	double early_ms = 0.3 + 0.3 * (number * 7 % 11) + 0.0013 * number;
	uint32_t thread = (uint32_t)(number * number / 3 % 7 % THREADS); /* in no order */
	uint32_t op =
		sketch_op(sketch, KIND_SLEEP, "limit", thread, due_ms - early_ms, due_ms + 0.06);

	sketch->rec.extras[op].amount = (uint64_t)(early_ms * 1e6);
}

START_TEST(a_limit_is_told_with_its_rate)
{
	struct sketch sketch;
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	double end_ms = 20 + DISTANCE_MS * CALLS;

	sketch_begin(&sketch);
	for (int i = 0; i < THREADS; i++)
		sketch_thread(&sketch, "worker", 0, end_ms + rows[_i].rest_ms);
	for (int i = 0; i < CALLS; i++)
		call(&sketch, i);
	if (rows[_i].rest_ms > 0)
		sketch_sleep(&sketch, 0, "rest", end_ms, end_ms + rows[_i].rest_ms);
	sketch_end(&sketch);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	const struct check *check = &analysis.checks.rows[CHECK_RATE];
	ck_assert_int_eq(check->state, rows[_i].state);
	ck_assert((rows[_i].state != CHECK_PASSED) == (strstr(check->line, "5.00 ms") != NULL));
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_limit_is_told_with_its_rate, rows);
}
