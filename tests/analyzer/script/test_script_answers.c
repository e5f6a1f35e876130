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

/* --- a loop that puts a second job behind the first one --- */

enum { CHAIN_ROUNDS = 10, CHAIN_ROUND_MS = 20, CHAIN_LAST_MS = 80 };

struct chain {
	struct sketch sketch;
	double free_ms[2];
};

/* The loop puts a job, and the worker that waits takes it. */
static void chain_puts(struct chain *chain, uint32_t worker, double ms)
{
	struct sketch *sketch = &chain->sketch;
	double from_ms = chain->free_ms[worker];

	sketch_hold(sketch, BELL_LOOP, "M", 1, ms, ms + 0.01);
	sketch_link(sketch, BELL_LOOP, LINK_WAKE, "C", ms + 0.005, 1, NO_INDEX);
	if (from_ms > 0)
		sketch_hold(sketch, BELL_WORKER + worker, "M", 2, from_ms - 0.01, from_ms);
	sketch_wait(sketch, BELL_WORKER + worker, REASON_COND, "C", from_ms, ms + 0.01, NO_INDEX);
	sketch_hold(sketch, BELL_WORKER + worker, "M", 3, ms + 0.01, ms + 0.02);
}

static void chain_asks(struct chain *chain, uint32_t client, double from_ms, double ms)
{
	sketch_sleep(&chain->sketch, BELL_CLIENT + client, "think", from_ms, ms);
	sketch_io(&chain->sketch, BELL_CLIENT + client, "write", client ? "tcp b>l" : "tcp a>l", 1,
		  ms, ms);
	sketch_io(&chain->sketch, BELL_LOOP, "read", client ? "tcp l>b" : "tcp l>a", 1, ms, ms);
	chain_puts(chain, client, ms);
}

/* The job that was put then is done now. */
static void chain_rings(struct chain *chain, uint32_t worker, double put_ms, double ms)
{
	sketch_sleep(&chain->sketch, BELL_WORKER + worker, worker ? "work_b" : "work_a",
		     put_ms + 0.02, ms);
	sketch_io(&chain->sketch, BELL_WORKER + worker, "write", "eventfd:[7]", 1, ms, ms);
	sketch_io(&chain->sketch, BELL_LOOP, "read", "eventfd:[7]", 1, ms, ms);
	chain->free_ms[worker] = ms + 0.01;
}

static void chain_round(struct chain *chain, int round)
{
	double ms = CHAIN_ROUND_MS * round, before_ms = ms - CHAIN_ROUND_MS;

	bell_poll(&chain->sketch, round ? before_ms + 11.03 : 0, ms + 2);
	chain_asks(chain, 0, round ? before_ms + 8 : 0, ms + 2);
	bell_poll(&chain->sketch, ms + 2.03, ms + 3);
	chain_asks(chain, 1, round ? before_ms + 11 : 0, ms + 3);
	bell_poll(&chain->sketch, ms + 3.03, ms + 5);
	chain_rings(chain, 0, ms + 2, ms + 5);
	chain_puts(chain, 0, ms + 5);
	bell_poll(&chain->sketch, ms + 5.03, ms + 7);
	chain_rings(chain, 1, ms + 3, ms + 7);
	chain_puts(chain, 1, ms + 7);
	bell_poll(&chain->sketch, ms + 7.03, ms + 8);
	chain_rings(chain, 0, ms + 5, ms + 8);
	bell_answers(&chain->sketch, true, ms + 2, ms + 8);
	bell_poll(&chain->sketch, ms + 8.03, ms + 11);
	chain_rings(chain, 1, ms + 7, ms + 11);
	bell_answers(&chain->sketch, false, ms + 3, ms + 11);
}

static void chain_sketch(struct chain *chain)
{
	struct sketch *sketch = &chain->sketch;
	double end_ms = CHAIN_ROUND_MS * CHAIN_ROUNDS, last_ms = end_ms + CHAIN_LAST_MS;
	double ends_ms[] = { last_ms, end_ms, end_ms, end_ms, end_ms, last_ms };

	*chain = (struct chain){ .free_ms = { 0 } };
	sketch_begin(sketch);
	bell_threads(sketch, ends_ms, BELL_CLIENT);
	for (int round = 0; round < CHAIN_ROUNDS; round++)
		chain_round(chain, round);
	sketch_sleep(sketch, BELL_CLIENT + 1, "last", end_ms, last_ms);
	sketch_end(sketch);
}

/* The next job is put when the one before it is done, whatever else the loop does. */
START_TEST(a_job_behind_a_job_belongs_to_the_same_connection)
{
	struct chain chain;
	struct script script;
	uint32_t more = 0, answers = 0;

	chain_sketch(&chain);
	script_build(&script, &chain.sketch.rec, &chain.sketch.classes,
		     &(const struct script_options){ 0 });
	for (size_t i = 0; i < script.loops.visit_count; i++)
		if (script.job_of_visit[i] != NO_INDEX) {
			more += script.loops.visits[i].sort == VISIT_MORE;
			answers += script.loops.visits[i].sort == VISIT_ANSWER;
		}
	ck_assert_uint_eq(more, 2 * CHAIN_ROUNDS);
	ck_assert_uint_eq(answers, 2 * CHAIN_ROUNDS);
	script_free(&script);
	ck_assert_double_eq_tol(replayed_ms(&chain.sketch, NULL, 1), 280, 1);
	ck_assert_double_eq_tol(replayed_ms(&chain.sketch, "work_a", 0), 280, 1);
	ck_assert_double_eq_tol(replayed_ms(&chain.sketch, "work_b", 0.5), 240, 1);
	ck_assert_double_eq_tol(replayed_ms(&chain.sketch, "work_b", 0), 200, 1);
	sketch_free(&chain.sketch);
}
END_TEST

SUITE()
{
	TEST(a_job_behind_a_job_belongs_to_the_same_connection);
	EACH(an_answer_needs_the_job_that_its_question_became, rows);
	LOOP(clients_of_a_loop_with_workers_have_nothing_to_do_with_each_other, 0, 2);
	TEST(one_may_ring_for_both);
}
