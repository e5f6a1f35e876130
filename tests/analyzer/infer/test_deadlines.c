/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a sleep would pass for a schedule, which no change can shorten; or the other way
 * round.
 */
#include "infer/deadlines.h"

#include "sketch.h"
#include "suite.h"

enum { SLEEPS = 20 };

/* The work between two sleeps never takes the same. */
static double work_ms(int i)
{
	return 1 + 0.01 * (i % 7) + 0.0003 * i;
}

static void add(struct sketch *sketch, double from_ms, double deadline_ms, double to_ms)
{
	uint32_t op = sketch_op(sketch, KIND_SLEEP, "nap", 0, from_ms, to_ms);
	double asked_ms = deadline_ms - from_ms;
	sketch->rec.extras[op].absolute = true;
	sketch->rec.extras[op].amount = asked_ms > 0 ? (uint64_t)(asked_ms * 1e6) : 0;
}

static bool has_schedule(struct sketch *sketch)
{
	sketch_end(sketch);
	struct deadlines found;
	deadlines_find(&found, &sketch->rec, &sketch->classes);
	bool has = found.origin_count > 0;
	deadlines_free(&found);
	sketch_free(sketch);
	return has;
}

static void begin(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 1000);
}

START_TEST(deadlines_at_even_distances_are_a_schedule)
{
	struct sketch sketch;
	double at_ms = 0;
	begin(&sketch);
	for (int i = 0; i < SLEEPS; i++) {
		add(&sketch, at_ms + work_ms(i), 5 * (i + 1), 5 * (i + 1) + 0.05);
		at_ms = 5 * (i + 1) + 0.05;
	}
	ck_assert(has_schedule(&sketch));
}
END_TEST

START_TEST(a_schedule_may_miss_beats)
{
	struct sketch sketch;
	struct deadlines found;
	double at_ms = 0;
	begin(&sketch);
	for (int i = 0; i < SLEEPS; i++) {
		double from_ms = at_ms + work_ms(i) + (i == 9 ? 5 : 0);
		double until_ms = 5 * (i + 1) > from_ms ? 5 * (i + 1) + 0.05 : from_ms + 0.01;
		add(&sketch, from_ms, 5 * (i + 1), until_ms);
		at_ms = until_ms;
	}
	sketch_end(&sketch);
	deadlines_find(&found, &sketch.rec, &sketch.classes);
	ck_assert_uint_eq(found.origin_count, 1); /* and does not begin anew */
	ck_assert_uint_eq(found.origins[0].at_ns, 0);
	deadlines_free(&found);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_deadline_computed_from_now_is_a_sleep)
{
	struct sketch sketch;
	double at_ms = 0;
	begin(&sketch);
	for (int i = 0; i < SLEEPS; i++) {
		double from_ms = at_ms + work_ms(i);
		add(&sketch, from_ms, from_ms + 4, from_ms + 4.05);
		at_ms = from_ms + 4.05;
	}
	ck_assert(!has_schedule(&sketch));
}
END_TEST

/* Jobs of two sizes, dealt out in rounds that take about the same. */
START_TEST(sleeps_of_a_few_lengths_are_no_schedule)
{
	struct sketch sketch;
	double at_ms = 0;
	begin(&sketch);
	for (int i = 0; i < SLEEPS; i++) {
		double asked_ms = i % 3 ? 36 : 12, until_ms = at_ms + asked_ms;
		add(&sketch, at_ms, until_ms, until_ms + 0.05);
		at_ms = until_ms + (i % 3 == 2 ? 26 : 1) + work_ms(i);
	}
	ck_assert(!has_schedule(&sketch));
}
END_TEST

/* It begins one distance before its first deadline; and again after it was left for long. */
START_TEST(a_schedule_has_a_begin)
{
	struct sketch sketch;
	struct deadlines found;
	begin(&sketch);
	for (int n = 0; n < 2; n++) {
		double begin_ms = 100 + 400 * n, at_ms = begin_ms;
		for (int i = 0; i < SLEEPS; i++) {
			double until_ms = begin_ms + 5 * (i + 1);
			add(&sketch, at_ms + work_ms(i), until_ms, until_ms + 0.05);
			at_ms = until_ms + 0.05;
		}
	}
	sketch_end(&sketch);
	deadlines_find(&found, &sketch.rec, &sketch.classes);
	ck_assert_uint_eq(found.origin_count, 2);
	for (int n = 0; n < 2; n++)
		ck_assert_double_eq_tol((double)found.origins[n].at_ns / 1e6, 100 + 400 * n, 0.01);
	deadlines_free(&found);
	sketch_free(&sketch);
}
END_TEST

START_TEST(too_few_deadlines_are_no_schedule)
{
	struct sketch sketch;
	begin(&sketch);
	add(&sketch, 1, 5, 5.05);
	add(&sketch, 6, 10, 10.05);
	ck_assert(!has_schedule(&sketch));
}
END_TEST

SUITE()
{
	TEST(deadlines_at_even_distances_are_a_schedule);
	TEST(a_schedule_may_miss_beats);
	TEST(a_deadline_computed_from_now_is_a_sleep);
	TEST(sleeps_of_a_few_lengths_are_no_schedule);
	TEST(a_schedule_has_a_begin);
	TEST(too_few_deadlines_are_no_schedule);
}
