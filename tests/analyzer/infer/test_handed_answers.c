/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, percentiles would be predicted for a loop that answers whatever is done. Or they
 * would be withheld where each answer is known to belong to its question.
 */
#include "infer/handed_answers.h"

#include "client_server.h"
#include "script/script.h"
#include "suite.h"

enum { ROUNDS = 10 };

static void found(struct sketch *sketch, double at_ms)
{
	served_poll(sketch, 0, 1, at_ms, at_ms + 0.4);
}

/* A bell rings, and the loop answers a connection. */
static void answered(struct sketch *sketch, const char *bell, uint32_t worker,
		     const char *connection, double at_ms)
{
	sketch_io(sketch, worker, "write", bell, 1, at_ms + 0.1, at_ms + 0.2);
	found(sketch, at_ms);
	sketch_io(sketch, 0, "read", bell, 1, at_ms + 0.5, at_ms + 0.6);
	served_call(sketch, 0, "write", connection, 20, at_ms + 0.7, at_ms + 0.8);
}

/* Two questions a round, which workers have done after each other. */
static const struct {
	const char *bell;
	uint32_t workers;
	bool answers_at_once; /* the loop alone, and rings all the same */
	size_t handed;
} rows[] = {
	/* 0: whoever is done calls */ { "eventfd:[7]", 2, false, 2 * ROUNDS },
	/* 1 */ { "pipe:[7]", 2, false, 2 * ROUNDS },
	/* 2: in the order in which the only one works */ { "eventfd:[7]", 1, false, 0 },
	/* 3: who asked is known */ { "eventfd:[7]", 2, true, 0 },
};

START_TEST(answers_for_other_threads_are_counted)
{
	static const char *const connections[] = { "tcp 1.2.3.4:80>1.2.3.4:5001",
						   "tcp 1.2.3.4:80>1.2.3.4:5002" };
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "loop", 0, 10 * ROUNDS);
	for (uint32_t i = 0; i < 2; i++)
		sketch_thread(&sketch, "worker", 0, 10 * ROUNDS);
	for (int round = 0; round < ROUNDS; round++) {
		double at_ms = 10 * round;

		for (uint32_t i = 0; i < 2; i++) {
			double asked_ms = at_ms + 1 + i;

			found(&sketch, asked_ms);
			served_call(&sketch, 0, "read", connections[i], 10, asked_ms + 0.5,
				    asked_ms + 0.6);
			if (rows[_i].answers_at_once)
				served_call(&sketch, 0, "write", connections[i], 20, asked_ms + 0.7,
					    asked_ms + 0.8);
		}
		for (uint32_t i = 0; i < 2; i++) {
			double done_ms = at_ms + 4 + i;
			uint32_t worker = 1 + i % rows[_i].workers;

			if (!rows[_i].answers_at_once) {
				answered(&sketch, rows[_i].bell, worker, connections[i], done_ms);
				continue;
			}
			sketch_io(&sketch, worker, "write", rows[_i].bell, 1, done_ms, done_ms);
			found(&sketch, done_ms);
			sketch_io(&sketch, 0, "read", rows[_i].bell, 1, done_ms + 0.5,
				  done_ms + 0.6);
		}
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	ck_assert_uint_eq(script.requests.judged_count, 2 * ROUNDS);
	ck_assert_uint_eq(handed_answers_count(script.recording, &script.requests, &script.loops,
					       script.job_of_visit, &script.flows),
			  rows[_i].handed);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* One answer to each of three questions, at 3, 6 and 9 ms. Turns without work lie between. */
START_TEST(turns_without_work_hide_no_answer)
{
	static const double visits_ms[] = { 1, 2, -1, 3, 4, -1, 6, 7, -1, 9, -1 };
	enum { VISITS = sizeof(visits_ms) / sizeof(visits_ms[0]), ASKED = 3 };
	struct visit visits[VISITS];
	struct request requests[ASKED];
	struct stamp_place places[ASKED];
	uint32_t job_of_visit[VISITS], ends = 0;
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "loop", 0, 10);
	for (uint32_t i = 0; i < VISITS; i++) {
		double ms = visits_ms[i];
		bool is_answer = (int)ms % 3 == 0 && ms > 0;
		uint32_t op = ms < 0 ? NO_INDEX
				     : sketch_io(&sketch, 0, is_answer ? "write" : "read",
						 "tcp 1.1.1.1:8>1.1.1.1:5", 9, ms, ms + 0.5);

		job_of_visit[i] = NO_INDEX;
		visits[i] = (struct visit){ .op = op,
					    .flow = NO_INDEX,
					    .sort = op == NO_INDEX ? VISIT_TURN
						    : is_answer    ? VISIT_ANSWER
								   : VISIT_EVENT };
		if (!is_answer)
			continue;
		requests[ends] = (struct request){ .source = REQUEST_SERVED, .of = NO_INDEX };
		places[ends] = (struct stamp_place){ .op = op, .stamp = 2 * ends + 1 };
		ends++;
	}
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	const struct loops loops = { .visits = visits, .visit_count = VISITS };
	const struct requests all = { .requests = requests,
				      .count = ASKED,
				      .places = places,
				      .place_count = ASKED,
				      .judged_source = REQUEST_SERVED };
	ck_assert_uint_eq(handed_answers_count(&sketch.rec, &all, &loops, job_of_visit, &flows),
			  ASKED);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(answers_for_other_threads_are_counted, rows);
	TEST(turns_without_work_hide_no_answer);
}
