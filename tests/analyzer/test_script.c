/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread's steps are not what it did, in order, with time that waits took left out. */
#include "script.h"

#include "sketch.h"

#include <check.h>

static const struct script_options as_recorded = { 0 };

/* The steps of a thread, checked one by one; type and milliseconds. */
struct expected {
	enum step_type type;
	double ms;
};

static void expect(const struct script *script, uint32_t thread, const struct expected *expected,
		   size_t count)
{
	const struct step *step = &script->steps[script->actors[thread].first_step];

	for (size_t i = 0; i < count; i++, step++)
		ck_assert_msg(step->type == expected[i].type &&
				      step->ns == (uint64_t)(expected[i].ms * 1e6 + 0.5),
			      "step %zu: type %u, %llu ns", i, step->type,
			      (unsigned long long)step->ns);
}

START_TEST(a_lock_wait_becomes_an_acquisition)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch_hold(&sketch, 1, "M", 1, 1, 4);
	sketch_wait(&sketch, 0, REASON_MUTEX, "M", 2, 4.5, NO_INDEX);
	sketch_hold(&sketch, 0, "M", 2, 4.5, 6);
	sketch_io(&sketch, 0, "write", "", 1, 5, 5.5);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected main_steps[] = {
		{ STEP_RUN, 2 },     { STEP_ACQUIRE, 0.5 }, { STEP_RUN, 0.5 },
		{ STEP_DELAY, 0.5 }, { STEP_RUN, 0.5 },     { STEP_RELEASE, 0 },
		{ STEP_RUN, 4 },     { STEP_MARK, 0 },      { STEP_END, 0 },
	};
	expect(&script, 0, main_steps, sizeof(main_steps) / sizeof(main_steps[0]));
	ck_assert_uint_eq(script.unresolved_waits, 0);
	ck_assert_uint_eq(script.lock_latency_ns, 100000); /* not the 500 us of this wait */
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_wait_without_a_waker_stays)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_wait(&sketch, 0, REASON_MUTEX, "M", 2, 4.5, NO_INDEX);
	sketch_hold(&sketch, 0, "M", 2, 4.5, 6);
	sketch_wait(&sketch, 0, REASON_FUTEX, "F", 7, 8, NO_INDEX);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected steps[] = {
		{ STEP_RUN, 2 },     { STEP_FIXED, 2.5 }, { STEP_ACQUIRE, 0 }, { STEP_RUN, 1.5 },
		{ STEP_RELEASE, 0 }, { STEP_RUN, 1 },     { STEP_FIXED, 1 },   { STEP_RUN, 2 },
	};
	expect(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	ck_assert_uint_eq(script.unresolved_waits, 2);
	ck_assert_uint_eq(script.unresolved_ns, 3500000);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_sleep_is_what_was_asked_for_and_an_overrun)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_sleep(&sketch, 0, "nap", 1, 3);
	sketch.rec.extras[sketch.rec.op_count - 1].bytes = SKETCH_MS;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected steps[] = {
		{ STEP_RUN, 1 },
		{ STEP_DELAY, 1 },
		{ STEP_OVERRUN, 1 },
		{ STEP_RUN, 7 },
	};
	expect(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_crowded_run_is_its_cpu_time)
{
	struct sketch sketch;
	struct script script;
	static struct rec_sample samples[] = {
		{ .at_ns = 0, .cpu_ns = 500, .thread = 0 },
		{ .at_ns = 10 * SKETCH_MS, .cpu_ns = 500 + 4 * SKETCH_MS, .thread = 0 },
	};

	/* two threads, one CPU; the first had it for 4 of its 10 ms */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected steps[] = { { STEP_RUN, 4 }, { STEP_MARK, 0 } };
	ck_assert(script.was_crowded);
	expect(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("script");
	TCase *tcase = tcase_create("script");

	tcase_add_test(tcase, a_lock_wait_becomes_an_acquisition);
	tcase_add_test(tcase, a_wait_without_a_waker_stays);
	tcase_add_test(tcase, a_sleep_is_what_was_asked_for_and_an_overrun);
	tcase_add_test(tcase, a_crowded_run_is_its_cpu_time);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(suite());

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
