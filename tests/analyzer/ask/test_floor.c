/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a run that hangs on waits which nothing can shorten would get answers. Or another
 * wait would be named for it.
 */
#include "ask/floor.h"

#include "replay/simulate.h"
#include "sketch.h"
#include "suite.h"

static struct floor floor_at(struct sketch *sketch, const char *kept, double factor)
{
	struct script script;
	struct machine machine;
	struct floor floor;
	bool is_kept[64] = { false };
	ck_assert_uint_lt(sketch->classes.count, 64);
	if (kept)
		is_kept[sketch_class(sketch, kept)] = true;
	script_build(&script, &sketch->rec, &sketch->classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 0);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	floor_build(&floor, &script, &sketch->classes, is_kept, factor, &replayer);
	script_free(&script);
	return floor;
}

static struct floor floor_of(struct sketch *sketch, const char *kept)
{
	return floor_at(sketch, kept, 0);
}

/* Thread 1 sleeps 10 ms, then waits 30 for a condition that nobody signals; thread 2 waits 25.
 * Returns the first of the two waits. */
static uint32_t sketch_unended(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_join_two(sketch, "stuck", "other", 40, 35);
	sketch_sleep(sketch, 1, "nap", 0, 10);
	uint32_t wait = sketch_wait(sketch, 1, REASON_COND, "C", 10, 40, NO_INDEX);
	sketch_sleep(sketch, 2, "nap", 0, 10);
	sketch_wait(sketch, 2, REASON_COND, "D", 10, 35, NO_INDEX);
	sketch_end(sketch);
	return wait;
}

START_TEST(a_wait_that_nobody_ends_remains)
{
	struct sketch sketch;
	uint32_t wait = sketch_unended(&sketch);
	const struct floor floor = floor_of(&sketch, NULL);
	ck_assert_double_eq(floor.floor_ns, 30e6);
	ck_assert_uint_eq(floor.worst.ns, 30 * SKETCH_MS);
	ck_assert_uint_eq(floor.worst.thread, 1);
	ck_assert_uint_eq(floor.worst.wait, wait);
	ck_assert_int_eq(floor.worst.part, TRACE_STEP);
	sketch_free(&sketch);
}
END_TEST

/* A class that takes half as long remains as half. */
START_TEST(half_of_the_way_is_half)
{
	struct sketch sketch;
	sketch_unended(&sketch);
	const struct floor floor = floor_at(&sketch, NULL, 0.5);
	ck_assert_double_eq(floor.floor_ns, 35e6);
	ck_assert_uint_eq(floor.forced_steps, 0);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_class_that_nobody_asks_about_remains)
{
	struct sketch sketch;
	sketch_unended(&sketch);
	const struct floor floor = floor_of(&sketch, "nap");
	ck_assert_double_eq(floor.floor_ns, 40e6);
	ck_assert_uint_eq(floor.worst.ns, 30 * SKETCH_MS);
	sketch_free(&sketch);
}
END_TEST

/* Sleeps until a time; evenly, or so long after the work that was done before. */
static struct floor floor_of_deadlines(bool is_even)
{
	struct sketch sketch;
	double at_ms = 0;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	for (int i = 0; i < 20; i++) {
		double from_ms = at_ms + 1 + 0.02 * (i % 5);
		double until_ms = is_even ? 5 * (i + 1) : from_ms + 3.5;
		uint32_t op = sketch_op(&sketch, KIND_SLEEP, "until", 0, from_ms, until_ms);
		sketch.rec.extras[op].absolute = true;
		sketch.rec.extras[op].amount = (uint64_t)((until_ms - from_ms) * 1e6);
		at_ms = until_ms;
	}
	sketch_end(&sketch);
	const struct floor floor = floor_of(&sketch, NULL);
	sketch_free(&sketch);
	return floor;
}

START_TEST(a_schedule_is_no_wait_and_a_moment_is_a_sleep)
{
	ck_assert_double_eq(floor_of_deadlines(true).floor_ns, 0);
	ck_assert_double_eq(floor_of_deadlines(false).floor_ns, 0);
}
END_TEST

/* The program's second process, which nobody is seen to start, begins at 50 ms. */
START_TEST(what_began_later_had_not_to_wait)
{
	struct sketch sketch;
	struct rec_process processes[] = { { .pid = 1 }, { .pid = 2, .ppid = 7 } };
	static const struct {
		double main_ms;
		uint32_t parent;
		double floor_ms;
	} rows[] = {
		/* 0: while the first one goes on */ { 60, 7, 0 },
		/* 1: the first one is its parent */ { 60, 1, 50 },
		/* 2: it is of another run, long after the first one */ { 10, 7, 50 },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sketch_begin(&sketch);
		sketch.rec.processes = processes;
		sketch.rec.process_count = 2;
		sketch_thread(&sketch, "main", 0, rows[i].main_ms);
		sketch_thread(&sketch, "client", 50, 80);
		processes[1].ppid = rows[i].parent;
		processes[1].op = sketch_op(&sketch, KIND_PROCESS, "client", NO_INDEX, 50, 80);
		sketch.threads[1].process = 1;
		sketch_end(&sketch);
		const struct floor floor = floor_of(&sketch, NULL);
		ck_assert_double_eq(floor.floor_ns, rows[i].floor_ms * 1e6);
		sketch_free(&sketch);
	}
}
END_TEST

/* A wake-up is no wait for something unknown, unless it takes longer than one does. */
START_TEST(a_wake_up_is_none_and_a_late_one_is)
{
	static const double rows_ms[] = { 0.05, 5 };
	for (size_t i = 0; i < sizeof(rows_ms) / sizeof(rows_ms[0]); i++) {
		struct sketch sketch;
		double woken_ms = 10 + rows_ms[i];
		sketch_begin(&sketch);
		sketch_join_two(&sketch, "waits", "wakes", woken_ms, 10);
		sketch_sleep(&sketch, 2, "nap", 0, 10);
		sketch_link(&sketch, 2, LINK_WAKE, "C", 10, 1, NO_INDEX);
		sketch_wait(&sketch, 1, REASON_COND, "C", 0, woken_ms, NO_INDEX);
		sketch_end(&sketch);
		const struct floor floor = floor_of(&sketch, NULL);
		bool is_late = rows_ms[i] > 1;
		ck_assert_double_eq(floor.floor_ns, is_late ? rows_ms[i] * 1e6 : 0);
		ck_assert_double_eq(floor.uncounted_ns, is_late ? 0 : rows_ms[i] * 1e6);
		if (is_late)
			ck_assert_int_eq(floor.worst.part, TRACE_WAKE_UP);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	TEST(a_wait_that_nobody_ends_remains);
	TEST(half_of_the_way_is_half);
	TEST(a_class_that_nobody_asks_about_remains);
	TEST(a_schedule_is_no_wait_and_a_moment_is_a_sleep);
	TEST(what_began_later_had_not_to_wait);
	TEST(a_wake_up_is_none_and_a_late_one_is);
}
