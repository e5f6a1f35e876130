/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a job stays with the thread that happened to do it, or a limit is taken for a queue. */
#include "script/script_parts.h"

#include "sketch.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

/* Two threads take three permits each, one a millisecond, and give them back if they have to. */
static size_t jobs_of_semaphore(bool they_give_back)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "worker", 0, 10);
	sketch_thread(&sketch, "worker", 0, 10);
	for (int i = 0; i < 6; i++) {
		uint32_t worker = (uint32_t)(1 + i % 2);

		sketch_link(&sketch, they_give_back ? worker : 0, LINK_POST, "S", 1.05 + i, 0,
			    NO_INDEX);
		sketch_wait(&sketch, worker, REASON_SEM, "S", 1 + i, 1.1 + i, NO_INDEX);
		sketch_sleep(&sketch, worker, "job", 1.1 + i, 1.9 + i);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.source_count, 1);
	size_t count = script.jobs[0].count;
	script_free(&script);
	sketch_free(&sketch);
	return count;
}

START_TEST(permits_that_others_post_are_jobs)
{
	ck_assert_uint_eq(jobs_of_semaphore(false), 6);
}
END_TEST

START_TEST(permits_that_are_given_back_are_a_limit)
{
	ck_assert_uint_eq(jobs_of_semaphore(true), 0);
}
END_TEST

/* Two threads make five jobs in turn; the second one ends then. The last job is the first one's. */
START_TEST(who_is_there_for_the_last_job_goes_on_while_there_are_any)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "worker", 0, 10);
	sketch_thread(&sketch, "worker", 0, 4.95);
	for (int i = 0; i < 5; i++) {
		uint32_t worker = (uint32_t)(1 + i % 2);

		sketch_link(&sketch, 0, LINK_POST, "S", 1.05 + i, 0, NO_INDEX);
		sketch_wait(&sketch, worker, REASON_SEM, "S", 1 + i, 1.1 + i, NO_INDEX);
		sketch_sleep(&sketch, worker, "job", 1.1 + i, 1.9 + i);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.jobs[0].count, 5);
	ck_assert_uint_eq(script.actors[0].take_step, NO_INDEX);
	ck_assert_uint_ne(script.actors[1].take_step, NO_INDEX);
	ck_assert_uint_eq(script.steps[script.actors[1].take_step].type, STEP_PERMIT);
	ck_assert_uint_eq(script.actors[2].take_step, NO_INDEX);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* An event loop goes through its stretches once. */
START_TEST(a_thread_that_visits_after_its_takes_does_not_go_on)
{
	static const struct {
		enum step_type second;
		uint32_t take_step;
	} rows[] = { { STEP_RUN, 0 }, { STEP_VISIT, NO_INDEX } };

	for (int i = 0; i < 2; i++) {
		struct step steps[] = { { .type = STEP_PERMIT },
					{ .type = rows[i].second },
					{ .type = STEP_END } };
		struct actor actor = { 0 };
		uint32_t taken = 0;
		struct job_list jobs = { .steps = &taken, .count = 1, .lock = NO_INDEX };
		const struct script script = { .steps = steps,
					       .step_count = 3,
					       .actors = &actor,
					       .actor_count = 1,
					       .jobs = &jobs,
					       .source_count = 1 };

		ck_assert_uint_eq(script_take_step(&script, 0), rows[i].take_step);
	}
}
END_TEST

SUITE()
{
	TEST(a_thread_that_visits_after_its_takes_does_not_go_on);
	TEST(permits_that_others_post_are_jobs);
	TEST(permits_that_are_given_back_are_a_limit);
	TEST(who_is_there_for_the_last_job_goes_on_while_there_are_any);
}
