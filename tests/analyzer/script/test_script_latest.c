/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if an answer is taken for sure though it hangs on which of several jobs a thread takes. So
 * if a job is done before the one that put it.
 */
#include "feeding.h"
#include "replayed.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

/* Three jobs are put at once, of which one is left when the next one is put: that is taken first.
 */
START_TEST(each_take_gets_what_was_put_last)
{
	static const uint32_t expected[FEEDING_JOBS] = { 0, 4, 2, 1, 3 };
	struct sketch sketch;
	struct script script;

	feeding_sketch(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.jobs[0].count, FEEDING_JOBS);
	ck_assert_ptr_nonnull(script.jobs[0].latest);
	for (int n = 0; n < FEEDING_JOBS; n++)
		ck_assert_uint_eq(script.jobs[0].latest[n], expected[n]);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* With nothing to do for "b", its thread takes the long job if that is there, which was put by
 * "root" or else by "a". */
START_TEST(a_job_comes_after_what_put_it)
{
	static const struct {
		bool takes_latest;
		double same_ms, changed_ms;
	} rows[] = { { false, 50, 40.2 }, { true, 50, 50 } };

	for (int i = 0; i < 2; i++) {
		const struct trial trial = { .takes_latest = rows[i].takes_latest };
		struct sketch sketch;

		feeding_sketch(&sketch);
		const struct replay_answer same = replayed_trial(&sketch, trial, NULL, 1);
		const struct replay_answer changed = replayed_trial(&sketch, trial, "b", 0);
		ck_assert_uint_eq(same.forced_steps + changed.forced_steps, 0);
		ck_assert_double_eq_tol(same.makespan_ns / 1e6, rows[i].same_ms, 1.5);
		ck_assert_double_eq_tol(changed.makespan_ns / 1e6, rows[i].changed_ms, 1.5);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	TEST(each_take_gets_what_was_put_last);
	TEST(a_job_comes_after_what_put_it);
}
