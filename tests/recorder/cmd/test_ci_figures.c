/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a budget or a gate has another figure than the one that it names. */
#include "ci.h"

#include <math.h>
#include <string.h>

#include "suite.h"

/* A lock that is taken and waited for, a call from two places, an op of the program's. */
static struct ci_class classes[] = {
	{ .name = (char *)"table", .kind = "hold", .count = 8, .time_ns = 800, .blocked_ns = 80 },
	{ .name = (char *)"table",
	  .kind = "mutex",
	  .is_wait = true,
	  .count = 2,
	  .time_ns = 60,
	  .blocked_ns = 40,
	  .queued_ns = 20 },
	{ .name = (char *)"index", .kind = "hold", .count = 4, .time_ns = 8 },
	{ .name = (char *)"a/fsync",
	  .kind = "io",
	  .count = 4,
	  .time_ns = 400,
	  .blocked_ns = 300,
	  .cpu_ns = 100 },
	{ .name = (char *)"b/fsync", .kind = "io", .count = 2, .time_ns = 20, .cpu_ns = 20 },
	{ .name = (char *)"b/read",
	  .kind = "io",
	  .is_wait = true,
	  .count = 6,
	  .time_ns = 600,
	  .blocked_ns = 600 },
	{ .name = (char *)"serve", .kind = "user", .count = 2, .time_ns = 2000 },
	{ .name = (char *)"work", .kind = "thread", .count = 1, .cpu_ns = 500 },
};
static struct ci_run run = { .units = 2,
			     .cpu_ns = 620,
			     .makespan_ns = 1000,
			     .p50_ns = 10,
			     .p99_ns = NAN,
			     .classes = classes,
			     .class_count = sizeof(classes) / sizeof(classes[0]) };
static struct ci_runs runs = { .pairs = 1, .runs = { &run, &run } };

static const struct {
	int row;
	enum ci_what what;
	enum ci_per per;
	const char *name;
	double value;
} figures[] = {
	{ 0, CI_COUNT, CI_PER_REQUEST, "table", 4 },   /* holds, not waits */
	{ 1, CI_WAIT, CI_PER_REQUEST, "table", 30 },   /* waits, not what is done under it */
	{ 2, CI_TIME, CI_PER_REQUEST, "table", 400 },  /* how long it is held */
	{ 3, CI_WAIT, CI_PER_REQUEST, "index", 0 },    /* nobody waited */
	{ 4, CI_COUNT, CI_PER_REQUEST, "lock", 6 },    /* all locks */
	{ 5, CI_COUNT, CI_PER_REQUEST, "fsync", 3 },   /* from all places */
	{ 6, CI_COUNT, CI_PER_REQUEST, "a/fsync", 2 }, /* from one */
	{ 7, CI_WAIT, CI_PER_REQUEST, "fsync", 150 },  /* blocked in the calls */
	{ 8, CI_CPU, CI_PER_RUN, "fsync", 120 },       { 9, CI_COUNT, CI_PER_RUN, "io", 12 },
	{ 10, CI_COUNT, CI_PER_UNIT, "read", 3 }, /* a call, though it waits for a thread */
	{ 11, CI_COUNT, CI_PER_RUN, "mutex", 2 },      { 12, CI_COUNT, CI_PER_UNIT, "none", 0 },
	{ 13, CI_CPU, CI_PER_UNIT, NULL, 310 },        { 14, CI_CPU, CI_PER_RUN, NULL, 620 },
	{ 15, CI_MAKESPAN, CI_PER_UNIT, NULL, 1000 },  { 16, CI_P50, CI_PER_UNIT, NULL, 10 },
};

START_TEST(figures_are_of_what_they_name)
{
	const struct ci_figure figure = { figures[_i].what, figures[_i].per,
					  (char *)figures[_i].name };

	ck_assert_double_eq_tol(ci_figure_of(&figure, &run), figures[_i].value, 1e-9);
	ck_assert_int_eq(ci_figure_is_seen(&figure, &runs),
			 !figure.name || strcmp(figure.name, "none") != 0);
}
END_TEST

START_TEST(what_is_not_known_is_no_number)
{
	const struct ci_figure figure = { .what = CI_P99 };

	ck_assert(isnan(ci_figure_of(&figure, &run)));
}
END_TEST

START_TEST(calls_locks_and_ops_are_counted)
{
	static const bool expected[] = { true, false, true, true, true, true, true, false };

	for (size_t i = 0; i < run.class_count; i++)
		ck_assert_int_eq(ci_class_is_counted(&classes[i]), expected[i]);
}
END_TEST

SUITE()
{
	EACH(figures_are_of_what_they_name, figures);
	TEST(what_is_not_known_is_no_number);
	TEST(calls_locks_and_ops_are_counted);
}
