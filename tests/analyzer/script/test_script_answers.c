/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a loop would answer in the recorded order whoever's job is done. Or an answer
 * would be tied to a job that it has nothing to do with.
 */
#include "bell.h"
#include "replayed.h"
#include "script/script.h"
#include "suite.h"

static const struct {
	struct bell of;
	uint32_t known;
} rows[] = {
	/* 0 */ { { false, false, false }, 2 * BELL_ROUNDS },
	/* 1 */ { { .by_pipe = true }, 2 * BELL_ROUNDS },
	/* 2 */ { { .is_shared = true }, 2 * BELL_ROUNDS },
	/* 3: the jobs were done in another order than they were taken, or it is not known */
	{ { .is_swapped = true }, 0 },
};

START_TEST(an_answer_needs_the_job_that_its_question_became)
{
	struct sketch sketch;
	struct script script;
	uint32_t answers = 0, known = 0, visits = 0;

	bell_sketch(&sketch, &rows[_i].of);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	for (size_t i = 0; i < script.loops.visit_count; i++) {
		bool is_answer = script.loops.visits[i].sort == VISIT_ANSWER;

		answers += is_answer;
		ck_assert(is_answer || script.job_of_visit[i] == NO_INDEX);
		if (script.job_of_visit[i] != NO_INDEX)
			ck_assert_uint_eq(script.job_of_visit[i], known++);
	}
	for (size_t i = 0; i < script.step_count; i++)
		visits += script.steps[i].type == STEP_VISIT &&
			  script.loops.visits[script.steps[i].arg].sort == VISIT_ANSWER;
	ck_assert_uint_eq(answers, 2 * BELL_ROUNDS);
	ck_assert_uint_eq(known, rows[_i].known);
	ck_assert_uint_eq(visits, rows[_i].known);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Each client waits for its own job, however the other one's work changes. */
START_TEST(clients_of_a_loop_with_workers_have_nothing_to_do_with_each_other)
{
	static const struct {
		const char *class;
		double factor, expected_ms;
	} made[] = { { NULL, 1, 280 },       { "work_a", 2, 280 }, { "work_b", 0, 200 },
		     { "work_b", 0.5, 240 }, { "work_a", 0, 280 }, { "last", 0, 200 } };
	struct sketch sketch;

	bell_sketch(&sketch, &rows[_i].of);
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		const struct replay_answer answer =
			replayed(&sketch, made[i].class, made[i].factor);

		ck_assert_uint_eq(answer.forced_steps, 0);
		ck_assert_double_eq_tol(answer.makespan_ns / 1e6, made[i].expected_ms, 0.1);
	}
	sketch_free(&sketch);
}
END_TEST

/* Nobody rings for b's job in half of the rounds. */
START_TEST(one_may_ring_for_both)
{
	struct sketch sketch;

	bell_sketch(&sketch, &(const struct bell){ .is_shared = true });
	ck_assert_double_eq_tol(replayed_ms(&sketch, NULL, 1), 280, 1);
	ck_assert_double_eq_tol(replayed_ms(&sketch, "work_b", 3), 280 + 10 * 10, 1);
	ck_assert_double_eq_tol(replayed_ms(&sketch, "work_a", 3),
				2 + 3 * 6 + 9 * (14 + 3 * 6) + 12, 1);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(an_answer_needs_the_job_that_its_question_became, rows);
	LOOP(clients_of_a_loop_with_workers_have_nothing_to_do_with_each_other, 0, 2);
	TEST(one_may_ring_for_both);
}
