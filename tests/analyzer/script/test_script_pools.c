/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a job stays with the thread that happened to do it, or a limit is taken for a queue. */
#include "script/script_parts.h"

#include "replayed.h"
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

/* Three permits for a thread, and, when that has ended, three for one that is in its place. */
START_TEST(threads_of_which_one_follows_the_other_are_no_pool)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "worker", 4.5, 10);
	sketch_thread(&sketch, "worker", 0.5, 4);
	for (int i = 0; i < 6; i++) {
		uint32_t worker = i < 3 ? 2 : 1;
		double ms = i < 3 ? i : 2 + i;

		sketch_link(&sketch, 0, LINK_POST, "S", 1.05 + ms, 0, NO_INDEX);
		sketch_wait(&sketch, worker, REASON_SEM, "S", 1 + ms, 1.1 + ms, NO_INDEX);
		sketch_sleep(&sketch, worker, "job", 1.1 + ms, 1.9 + ms);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.source_count, 1);
	ck_assert_uint_eq(script.jobs[0].count, 0);
	script_free(&script);
	sketch_free(&sketch);
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

/* Two threads make four jobs in turn, and take one more permit each. That tells them to end, unless
 * they go on when the recording ends. All that they take makes room in a queue: main waits for it.
 */
START_TEST(a_thread_that_makes_room_and_ends_has_left)
{
	bool goes_on = _i;
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "worker", 0, 6);
	sketch_thread(&sketch, "worker", 0, 7);
	for (int i = 0; i < 6; i++) {
		uint32_t worker = (uint32_t)(1 + i % 2);

		sketch_link(&sketch, 0, LINK_POST, "S", 1.05 + i, 0, NO_INDEX);
		sketch_wait(&sketch, worker, REASON_SEM, "S", 1 + i, 1.1 + i, NO_INDEX);
		sketch_link(&sketch, worker, LINK_POST, "R", 1.15 + i, 0, NO_INDEX);
		sketch_wait(&sketch, 0, REASON_SEM, "R", 1.1 + i, 1.2 + i, NO_INDEX);
		if (i < 4)
			sketch_sleep(&sketch, worker, "job", 1.2 + i, 1.9 + i);
	}
	for (uint32_t i = 1; i <= 2; i++)
		sketch.rec.extras[sketch.rec.threads[i].op].open = goes_on;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	size_t count = 0;

	for (size_t i = 0; i < script.source_count; i++)
		count += script.jobs[i].count;
	ck_assert_uint_eq(count, goes_on ? 6 : 4);
	for (uint32_t i = 1; i <= 2; i++)
		ck_assert_int_eq(script.actors[i].last_body == NO_INDEX, goes_on);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Two threads read messages in two parts, under a lock that is a semaphore. The last ones tell them
 * to end. */
START_TEST(a_message_in_parts_is_one_job)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "worker", 0, 10);
	sketch_thread(&sketch, "worker", 0, 10);
	for (int i = 0; i < 6; i++) {
		uint32_t worker = (uint32_t)(1 + i % 2);

		sketch_io(&sketch, 0, "write", "pipe:[1]", 10, 1 + i, 1 + i);
		sketch_wait(&sketch, worker, REASON_SEM, "S", 1 + i, 1 + i, NO_INDEX);
		sketch_io(&sketch, worker, "read", "pipe:[1]", 4, 1.1 + i, 1.1 + i);
		sketch_io(&sketch, worker, "read", "pipe:[1]", 6, 1.2 + i, 1.2 + i);
		sketch_link(&sketch, worker, LINK_POST, "S", 1.25 + i, 0, NO_INDEX);
		if (i < 4)
			sketch_sleep(&sketch, worker, "job", 1.3 + i, 1.9 + i);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	for (size_t i = 0; i < script.source_count; i++)
		ck_assert_uint_eq(script.jobs[i].count,
				  i == script.monitors.condition_count ? 4 : 0);
	ck_assert_uint_ne(script.actors[1].last_body, NO_INDEX);
	ck_assert_uint_ne(script.actors[2].last_body, NO_INDEX);
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

enum { FED_ROUNDS = 6, FED_ROUND_MS = 10 };

static void fed_put(struct sketch *sketch, uint32_t thread, double at_ms)
{
	sketch_hold(sketch, thread, "M", 1, at_ms, at_ms + 0.1);
	sketch_link(sketch, thread, LINK_WAKE, "C", at_ms + 0.05, 1, NO_INDEX);
}

static void fed_take(struct sketch *sketch, uint32_t thread, double from_ms, double at_ms)
{
	if (from_ms > 1)
		sketch_hold(sketch, thread, "M", 2, from_ms - 0.1, from_ms);
	sketch_wait(sketch, thread, REASON_COND, "C", from_ms, at_ms, NO_INDEX);
	sketch_hold(sketch, thread, "M", 3, at_ms, at_ms + 0.1);
}

/* In each round one worker has main's job, and gives another one to the other worker, for whose end
 * main waits. The two change places from round to round. */
static void fed_sketch(struct sketch *sketch)
{
	double free_ms[] = { 0, 0.01, 0 };

	sketch_begin(sketch);
	for (int i = 0; i < 3; i++)
		sketch_thread(sketch, i ? "worker" : "main", 0, FED_ROUNDS * FED_ROUND_MS);
	for (int i = 0; i < FED_ROUNDS; i++) {
		uint32_t first = i % 2 ? 2 : 1, second = 3 - first;
		double ms = FED_ROUND_MS * i;

		sketch_sleep(sketch, 0, "think", ms, ms + 2);
		fed_put(sketch, 0, ms + 2);
		fed_take(sketch, first, free_ms[first], ms + 2.1);
		sketch_sleep(sketch, first, "job_a", ms + 2.2, ms + 5);
		fed_put(sketch, first, ms + 5);
		free_ms[first] = ms + 5.3;
		fed_take(sketch, second, free_ms[second], ms + 5.1);
		sketch_sleep(sketch, second, "job_b", ms + 5.2, ms + 9);
		sketch_link(sketch, second, LINK_POST, "S", ms + 9, 0, NO_INDEX);
		free_ms[second] = ms + 9.3;
		sketch_wait(sketch, 0, REASON_SEM, "S", ms + 2.2, ms + 9.1, NO_INDEX);
	}
	sketch_end(sketch);
}

/* Two threads take of what main has put there once, and give it back each time. */
START_TEST(takers_that_give_back_are_no_workers)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	for (int i = 0; i < 3; i++)
		sketch_thread(&sketch, i ? "worker" : "main", 0, 100);
	fed_put(&sketch, 0, 2);
	fed_take(&sketch, 1, 0, 2.2);
	for (int i = 0; i < 6; i++) {
		uint32_t taker = i % 2 ? 1 : 2, giver = 3 - taker;
		double ms = 10.0 * (i + 1);

		sketch_sleep(&sketch, giver, "query", ms - 7.5, ms);
		fed_put(&sketch, giver, ms);
		fed_take(&sketch, taker, i ? ms - 9.5 : 0, ms + 0.2);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_int_eq(script.monitors.conditions[0].model, PUT_BY_SIGNAL);
	ck_assert_uint_eq(script.jobs[0].count, 0);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* A job comes after the one that put it, whoever does them. */
START_TEST(workers_may_put_jobs_for_each_other)
{
	struct sketch sketch;
	struct script script;
	uint64_t jobs = 0;

	fed_sketch(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.jobs[0].count, 2 * FED_ROUNDS);
	ck_assert(script.jobs[0].is_handed_over);
	for (size_t i = 0; i < script.step_count; i++)
		jobs += script_put_source(&script, &script.steps[i]) == 0 ? script.steps[i].job : 0;
	ck_assert_uint_eq(jobs, FED_ROUNDS * (2 * FED_ROUNDS + 1)); /* each once, from 1 on */
	for (size_t i = 0; i < script.recording->link_count; i++) {
		const struct rec_link *link = &script.recording->links[i];
		bool is_of_job = link->kind == LINK_WAKE && link->thread > 0;

		ck_assert_int_eq(script.job_of_link[i] != NO_INDEX, is_of_job);
	}
	script_free(&script);
	const struct replay_answer same = replayed(&sketch, NULL, 1);
	ck_assert_uint_eq(same.forced_steps, 0);
	ck_assert_double_eq_tol(same.makespan_ns / 1e6, FED_ROUNDS * FED_ROUND_MS, 0.5);
	ck_assert_double_eq_tol(replayed_ms(&sketch, "job_a", 0), FED_ROUNDS * (FED_ROUND_MS - 2.8),
				0.5);
	ck_assert_double_eq_tol(replayed_ms(&sketch, "job_b", 0.5),
				FED_ROUNDS * (FED_ROUND_MS - 1.9), 0.5);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(workers_may_put_jobs_for_each_other);
	TEST(takers_that_give_back_are_no_workers);
	TEST(a_thread_that_visits_after_its_takes_does_not_go_on);
	TEST(permits_that_others_post_are_jobs);
	TEST(threads_of_which_one_follows_the_other_are_no_pool);
	TEST(permits_that_are_given_back_are_a_limit);
	TEST(a_message_in_parts_is_one_job);
	LOOP(a_thread_that_makes_room_and_ends_has_left, 0, 2);
	TEST(who_is_there_for_the_last_job_goes_on_while_there_are_any);
}
