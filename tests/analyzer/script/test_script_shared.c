/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if permits or parties are not those of the recording. */
#include "script/script.h"

#include "sketch.h"
#include "steps.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

START_TEST(permits_are_the_largest_deficit)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	for (uint32_t t = 0; t < 3; t++) {
		sketch_thread(&sketch, "worker", 0, 30);
		sketch_wait(&sketch, t, REASON_SEM, "S", 1, t < 2 ? 1 : 11, NO_INDEX);
		sketch_link(&sketch, t, LINK_POST, "S", t < 2 ? 10 + t : 20, 2, NO_INDEX);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.semaphore_count, 1);
	ck_assert_uint_eq(script.permits[0], 2);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* The first post is for a wait that began before the recording. */
START_TEST(permits_may_be_owed)
{
	static const struct {
		double second_wait_ms;
		uint32_t owed;
	} rows[] = {
		/* 0 */ { 12, 1 },
		/* 1 */ { 15.99, 1 }, /* hardly waited, which says nothing */
	};

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct sketch sketch;
		struct script script;

		sketch_begin(&sketch);
		sketch_thread(&sketch, "taker", 0, 30);
		sketch_thread(&sketch, "poster", 0, 30);
		sketch_link(&sketch, 1, LINK_POST, "S", 1, 0, NO_INDEX);
		sketch_wait(&sketch, 0, REASON_SEM, "S", 3, 11, NO_INDEX);
		sketch_link(&sketch, 1, LINK_POST, "S", 10, 0, NO_INDEX);
		sketch_wait(&sketch, 0, REASON_SEM, "S", rows[row].second_wait_ms, 16.01, NO_INDEX);
		sketch_link(&sketch, 1, LINK_POST, "S", 16, 0, NO_INDEX);
		sketch_end(&sketch);
		script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
		ck_assert_uint_eq(script.permits[0], 0);
		ck_assert_uint_eq(script.owed_permits[0], rows[row].owed);
		ck_assert_uint_eq(script.unresolved_waits, 0);
		script_free(&script);
		sketch_free(&sketch);
	}
}
END_TEST

/* The poster is not recorded: the thread takes no permit that was there at the start. */
START_TEST(a_wait_without_a_post_stays)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "taker", 0, 30);
	sketch_wait(&sketch, 0, REASON_SEM, "S", 3, 11, NO_INDEX);
	sketch_wait(&sketch, 0, REASON_SEM, "S", 12, 15, NO_INDEX);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.permits[0], 0);
	ck_assert_uint_eq(script.unresolved_waits, 2);
	ck_assert_uint_eq(script.unresolved_ns, 11 * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* The recording begins when one of three has come out already. */
START_TEST(a_barrier_to_which_not_all_came_is_not_waited_at)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	for (uint32_t t = 0; t < 3; t++) {
		sketch_thread(&sketch, "worker", 0, 60);
		if (t)
			sketch_wait(&sketch, t, REASON_BARRIER, "B", t, t == 1 ? 2.5 : 2, NO_INDEX);
		sketch_wait(&sketch, t, REASON_BARRIER, "B", 40 + t, t < 2 ? 42.5 : 42, NO_INDEX);
	}
	sketch_link(&sketch, 2, LINK_WAKE, "B", 2, 2, NO_INDEX);
	sketch_link(&sketch, 2, LINK_WAKE, "B", 42, 2, NO_INDEX);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = {
		{ STEP_RUN, 1 },       { STEP_FIXED, 1.5 }, { STEP_RUN, 38.5 },
		{ STEP_BARRIER, 0.5 }, { STEP_RUN, 17.5 },
	};
	expect_steps(&script, 1, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(who_opens_a_barrier_wakes_the_others)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	for (uint32_t t = 0; t < 3; t++) {
		sketch_thread(&sketch, "worker", 0, 30);
		sketch_wait(&sketch, t, REASON_BARRIER, "B", 10 + t, t < 2 ? 12.5 : 12, NO_INDEX);
	}
	sketch_link(&sketch, 2, LINK_WAKE, "B", 12, 2, NO_INDEX);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.barrier_count, 1);
	ck_assert_uint_eq(script.parties[0], 3);
	static const struct expected_step steps[] = {
		{ STEP_RUN, 10 },
		{ STEP_BARRIER, 0.5 },
		{ STEP_RUN, 17.5 },
	};
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* They go on to wait for something else. */
START_TEST(who_comes_and_does_not_wait_is_waited_for)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	for (uint32_t t = 0; t < 3; t++)
		sketch_thread(&sketch, "worker", 0, 30);
	sketch_wait(&sketch, 0, REASON_BARRIER, "B", 10, 10, NO_INDEX);
	sketch_wait(&sketch, 1, REASON_BARRIER, "B", 11, 12.5, NO_INDEX);
	sketch_wait(&sketch, 2, REASON_BARRIER, "B", 12, 12, NO_INDEX);
	sketch_link(&sketch, 2, LINK_WAKE, "B", 12, 2, NO_INDEX);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = {
		{ STEP_RUN, 11 },
		{ STEP_BARRIER, 0.5 },
		{ STEP_RUN, 17.5 },
	};
	expect_steps(&script, 1, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(permits_are_the_largest_deficit);
	TEST(permits_may_be_owed);
	TEST(a_wait_without_a_post_stays);
	TEST(a_barrier_to_which_not_all_came_is_not_waited_at);
	TEST(who_opens_a_barrier_wakes_the_others);
	TEST(who_comes_and_does_not_wait_is_waited_for);
}
