/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a client that comes sooner has to wait for the job of another one. */
#include "script/script_handovers.h"

#include "replayed.h"
#include "suite.h"

enum { SHARED_A, SHARED_B, SHARED_WORKER, SHARED_JOB_MS = 2 };

/* A client thinks, puts a job, and waits for that; a worker has waited for it. */
static void shared_round(struct sketch *sketch, uint32_t client, double from_ms, double ms)
{
	uint32_t worker = SHARED_WORKER + client;
	const char *result = client == SHARED_A ? "a" : "b";
	double done_ms = ms + SHARED_JOB_MS;

	sketch_sleep(sketch, client, client == SHARED_A ? "think_a" : "think_b", from_ms, ms - 0.1);
	sketch_hold(sketch, client, "M", 1, ms - 0.05, ms - 0.03);
	sketch_link(sketch, client, LINK_WAKE, "C", ms - 0.02, 1, NO_INDEX);
	sketch_hold(sketch, worker, "M", 2, from_ms + 0.01, from_ms + 0.02);
	sketch_wait(sketch, worker, REASON_COND, "C", from_ms + 0.02, ms, NO_INDEX);
	sketch_hold(sketch, worker, "M", 3, ms, ms + 0.01);
	sketch_sleep(sketch, worker, "work", ms + 0.02, done_ms - 0.05);
	sketch_wait(sketch, client, REASON_FUTEX, result, ms, done_ms, NO_INDEX);
	sketch_link(sketch, worker, LINK_WAKE, result, done_ms - 0.02, 1, NO_INDEX);
}

/* Each has its own jobs, however much sooner the other one puts some: 10 in 100 ms,
 * which is the run, and 5 in 70. */
START_TEST(clients_of_one_queue_wait_for_their_own_jobs)
{
	static const struct {
		const char *class;
		double factor, expected_ms;
	} made[] = { { NULL, 1, 100 },
		     { "think_a", 0.5, 60 },
		     { "think_b", 0.5, 100 },
		     { "think_b", 0, 100 } };
	struct sketch sketch;

	sketch_begin(&sketch);
	for (uint32_t i = SHARED_A; i <= SHARED_B + SHARED_WORKER; i++)
		sketch_thread(&sketch, i < SHARED_WORKER ? "client" : "worker", 0,
			      i % 2 ? 70.5 : 100.5);
	for (int round = 0; round < 10; round++) {
		shared_round(&sketch, SHARED_A, 10 * round, 10 * round + 8);
		if (round < 5)
			shared_round(&sketch, SHARED_B, 14 * round, 14 * round + 12);
	}
	sketch_end(&sketch);
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		const struct replay_answer answer =
			replayed(&sketch, made[i].class, made[i].factor);

		ck_assert_uint_eq(answer.forced_steps, 0);
		ck_assert_double_eq_tol(answer.makespan_ns / 1e6, made[i].expected_ms, 2);
	}
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(clients_of_one_queue_wait_for_their_own_jobs);
}
