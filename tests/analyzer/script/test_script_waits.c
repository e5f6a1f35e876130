/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if the time that waits took stays, or goes although nobody knows why they waited. */
#include "script/script.h"

#include "sketch.h"
#include "steps.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

START_TEST(a_wait_without_a_waker_stays)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	/* of a lock whose holds are not recorded */
	sketch_wait(&sketch, 0, REASON_MUTEX, "N", 1, 1.5, NO_INDEX);
	sketch_wait(&sketch, 0, REASON_MUTEX, "M", 2, 4.5, NO_INDEX);
	sketch_hold(&sketch, 0, "M", 2, 4.5, 6);
	sketch_wait(&sketch, 0, REASON_FUTEX, "F", 7, 8, NO_INDEX);
	uint32_t orphan = sketch_wait(&sketch, 0, REASON_END, "E", 9, 9.5, NO_INDEX);
	sketch.rec.waits[orphan].waiter = NO_INDEX;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = {
		{ STEP_RUN, 1 },     { STEP_FIXED, 0.5 }, { STEP_RUN, 0.5 },   { STEP_FIXED, 2.5 },
		{ STEP_ACQUIRE, 0 }, { STEP_RUN, 1.5 },   { STEP_RELEASE, 0 }, { STEP_RUN, 1 },
		{ STEP_FIXED, 1 },   { STEP_RUN, 1 },     { STEP_FIXED, 0.5 }, { STEP_RUN, 0.5 },
	};
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	ck_assert_uint_eq(script.unresolved_waits, 4);
	ck_assert_uint_eq(script.unresolved_ns, 4500000);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_join_waits_for_the_thread_and_a_timeout_for_the_clock)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	uint32_t other = sketch_thread(&sketch, "other", 0, 4);
	uint32_t late =
		sketch_wait(&sketch, 0, _i ? REASON_FUTEX : REASON_COND, "C", 1, 3, NO_INDEX);
	sketch.rec.waits[late].timed_out = true;
	sketch_wait(&sketch, 0, REASON_JOIN, "other", 3, 4.5, sketch.rec.threads[other].op);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = {
		{ STEP_RUN, 1 },
		{ STEP_FIXED, 2 },
		{ STEP_JOIN, 0.5 },
		{ STEP_RUN, 5.5 },
	};
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	ck_assert_uint_eq(script.unresolved_waits, 0);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* The wait that follows one for S that timed out after 10 ms, and whether both are one. */
static const struct {
	const char *next; /* waited for */
	double after_ms;
	bool reads; /* meanwhile */
	bool times_out;
	bool is_one;
} retries[] = {
	/* 0 */ { "S", 0.1, false, false, true },
	/* 1 */ { "S", 0.6, false, false, false }, /* too much was done meanwhile */
	/* 2 */ { "T", 0.1, false, false, false },
	/* 3 */ { "S", 0.1, true, false, false },
	/* 4 */ { "S", 0.1, false, true, false }, /* nothing ever came */
	/* 5: another lock comes between */ { "S", 0.1, false, false, true },
	/* 6: each wait has a semaphore of its own */ { "T", 0.1, false, false, true },
};

START_TEST(a_timeout_passes_unless_the_wait_goes_on)
{
	struct sketch sketch;
	struct script script;
	uint64_t fixed_ns = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 30);
	sketch_thread(&sketch, "other", 0, 30);
	sketch_link(&sketch, 1, LINK_POST, "S", 15, 0, NO_INDEX);
	sketch_link(&sketch, 1, LINK_POST, "T", 15, 0, NO_INDEX);
	sketch.rec.waits[sketch_wait(&sketch, 0, REASON_SEM, "S", 1, 11, NO_INDEX)].timed_out =
		true;
	if (retries[_i].reads)
		sketch_io(&sketch, 0, "read", "file /x", 10, 11, 11.02);
	if (_i >= 5) {
		sketch_wait(&sketch, 0, REASON_SEM, "U", 11.02, 11.02, NO_INDEX);
		sketch_link(&sketch, 0, LINK_POST, "U", 11.04, 0, NO_INDEX);
	}
	uint32_t next = sketch_wait(&sketch, 0, REASON_SEM, retries[_i].next,
				    11 + retries[_i].after_ms, 15, NO_INDEX);
	sketch.rec.waits[next].timed_out = retries[_i].times_out;
	sketch.rec.waits[0].stack = sketch.rec.waits[next].stack = _i == 6;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *step = &script.steps[script.actors[0].first_step];
	for (; step->type != STEP_END; step++)
		fixed_ns += step->type == STEP_FIXED ? step->ns : 0;
	ck_assert_int_eq(fixed_ns >= 10000000, !retries[_i].is_one);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Which of several semaphores it waited for nobody can say. */
START_TEST(a_wait_for_no_one_semaphore_stays)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 30);
	uint32_t wait = sketch_wait(&sketch, 0, REASON_SEM, "S", 1, 11, NO_INDEX);
	sketch.rec.waits[wait].address = 0;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.unresolved_waits, 1);
	ck_assert_uint_eq(script.unresolved_ns, 10 * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Two threads end meanwhile; the second one was joined by name. */
START_TEST(a_join_that_names_nobody_is_of_who_is_left)
{
	static const struct {
		double third_ends_ms;
		uint64_t unresolved; /* waits */
	} rows[] = {
		/* 1 */ { 12, 0 },
		/* 2 */ { 6, 1 }, /* it may have been this one */
	};

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct sketch sketch;
		struct script script;

		sketch_begin(&sketch);
		sketch_thread(&sketch, "main", 0, 20);
		sketch_thread(&sketch, "first", 0, 8);
		uint32_t second = sketch_thread(&sketch, "second", 0, 4);
		sketch_thread(&sketch, "third", 0, rows[row].third_ends_ms);
		sketch_wait(&sketch, 0, REASON_JOIN, "?", 3, 8.5, NO_INDEX);
		sketch_wait(&sketch, 0, REASON_JOIN, "second", 9, 9.1,
			    sketch.rec.threads[second].op);
		sketch_end(&sketch);
		script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
		ck_assert_msg(script.unresolved_waits == rows[row].unresolved, "row %zu", row + 1);
		if (!rows[row].unresolved) {
			static const struct expected_step steps[] = { { STEP_RUN, 3 },
								      { STEP_JOIN, 0.5 } };
			expect_steps(&script, 0, steps, 2);
			ck_assert_uint_eq(script.steps[script.actors[0].first_step + 1].arg, 1);
		}
		script_free(&script);
		sketch_free(&sketch);
	}
}
END_TEST

/* Another thread took what the signal was for. The second wait goes on to the end. */
START_TEST(a_thread_that_came_too_late_waits_for_no_signal_of_its_own)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "putter", 0, 50);
	sketch_thread(&sketch, "taker", 0, 50);
	sketch_thread(&sketch, "late", 0, 50);
	for (int i = 0; i < 3; i++) {
		double ms = 10 * i, came_ms = i == 2 ? ms + 5.2 : ms;

		sketch_hold(&sketch, 0, "M", 1, ms + 5, ms + 5.1);
		sketch_link(&sketch, 0, LINK_WAKE, "C", ms + 5.05, 1, NO_INDEX);
		sketch_hold(&sketch, 1, "M", 2, came_ms, came_ms + 0.1);
		if (i == 2)
			continue;
		sketch_wait(&sketch, 1, REASON_COND, "C", ms + 0.1, ms + 5.2, NO_INDEX);
		sketch_hold(&sketch, 1, "M", 3, ms + 5.2, ms + 5.3);
	}
	sketch_hold(&sketch, 2, "M", 2, 1, 1.1);
	sketch_wait(&sketch, 2, REASON_COND, "C", 1.1, 25.4, NO_INDEX);
	sketch_hold(&sketch, 2, "M", 3, 25.4, 25.5);
	uint32_t last = sketch_wait(&sketch, 2, REASON_COND, "C", 25.5, 50, NO_INDEX);
	sketch.rec.waits[last].open = true;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_int_ne(script.monitors.conditions[0].model, PUT_NONE);
	for (size_t i = 0; i < script.step_count; i++)
		ck_assert_int_ne(script.steps[i].type, STEP_AFTER);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_thread_that_came_too_late_waits_for_no_signal_of_its_own);
	TEST(a_wait_without_a_waker_stays);
	LOOP(a_join_waits_for_the_thread_and_a_timeout_for_the_clock, 0, 2);
	EACH(a_timeout_passes_unless_the_wait_goes_on, retries);
	TEST(a_wait_for_no_one_semaphore_stays);
	TEST(a_join_that_names_nobody_is_of_who_is_left);
}
