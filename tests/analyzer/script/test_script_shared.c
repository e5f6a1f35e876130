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

SUITE()
{
	TEST(permits_are_the_largest_deficit);
	TEST(who_opens_a_barrier_wakes_the_others);
}
