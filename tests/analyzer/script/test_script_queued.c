/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a job is taken for another one, or for done when it is not. */
#include "script/script_queued.h"

#include "bell.h"
#include "suite.h"

START_TEST(jobs_are_taken_in_the_order_in_which_they_were_put)
{
	struct sketch sketch;
	struct script script;
	struct queued queued;
	uint32_t jobs = 0;

	bell_sketch(&sketch, &(const struct bell){ .by_pipe = _i });
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	script_queued_find(&queued, &script);
	for (uint32_t i = 0; i < script.step_count; i++) {
		if (queued.put_job[i] == NO_INDEX)
			continue;
		double ms = BELL_ROUND_MS * (jobs / 2) + (jobs % 2 ? 11 : 8);

		ck_assert_uint_eq(queued.put_job[i], jobs++);
		uint32_t source = queued.source_of[queued.put_job[i]];
		ck_assert(script_has_jobs(&script, source));
		ck_assert(queued.calls[source]);
		ck_assert_int_eq(script_jobs_before(&script, source), 0);
		ck_assert_double_eq_tol(
			(double)script_done_ns(&queued, &script, queued.put_job[i], NO_INDEX) / 1e6,
			ms, 0.01);
	}
	ck_assert_uint_eq(jobs, 2 * BELL_ROUNDS);
	script_queued_free(&queued);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(jobs_are_taken_in_the_order_in_which_they_were_put, 0, 2);
}
