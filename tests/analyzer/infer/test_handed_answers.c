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

SUITE()
{
	EACH(answers_for_other_threads_are_counted, rows);
}
