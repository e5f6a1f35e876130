/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a message that comes sooner has another message's job done first. */
#include "script/script_parts.h"

#include "replay/simulate.h"
#include "sketch.h"
#include "suite.h"

#include <math.h>

static const struct script_options as_recorded = { 0 };

/* One writes after 1 ms what takes 10 ms, two after 2 ms what takes 1 ms; two others read, and
 * main waits for them. */
static void sketch_pool(struct sketch *sketch, uint64_t second_bytes)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 11);
	sketch_thread(sketch, "one", 0, 1.1);
	sketch_thread(sketch, "two", 0, 2.1);
	sketch_thread(sketch, "worker", 0, 11);
	sketch_thread(sketch, "worker", 0, 3);
	sketch_wait(sketch, 0, REASON_JOIN, "", 0, 11, sketch->rec.threads[3].op);
	sketch_wait(sketch, 0, REASON_JOIN, "", 11, 11, sketch->rec.threads[4].op);
	sketch_sleep(sketch, 1, "early", 0, 1);
	sketch_io(sketch, 1, "write", "pipe:[1]", 100, 1, 1);
	sketch_sleep(sketch, 2, "late", 0, 2);
	sketch_io(sketch, 2, "write", "pipe:[1]", second_bytes, 2, 2);
	sketch_io(sketch, 3, "read", "pipe:[1]", 100, 0, 1);
	sketch_sleep(sketch, 3, "long", 1, 11);
	sketch_io(sketch, 4, "read", "pipe:[1]", second_bytes, 0, 2);
	sketch_sleep(sketch, 4, "short", 2, 3);
	sketch_end(sketch);
}

static double makespan_ms(struct sketch *sketch, const struct script *script, const char *class)
{
	struct machine machine;
	machine_begin(&machine, script, 0);
	const struct replayer replayer = simulate_replayer(script, &machine);
	const struct scaling scaling = { class ? sketch_class(sketch, class) : NO_INDEX, 0 };
	const struct trial trial = { .scalings = &scaling, .count = class != NULL };
	const struct replay_answer answer = replayer_try(&replayer, &trial);

	ck_assert_uint_eq(answer.forced_steps, 0);
	return answer.makespan_ns / 1e6;
}

START_TEST(the_job_comes_with_its_message)
{
	static const struct {
		uint64_t second_bytes;
		const char *gone; /* class that takes no time */
		double expected_ms;
	} rows[] = {
		/* 0 */ { 100, NULL, 11 },    /* 1 */ { 100, "early", 10 },
		/* 2 */ { 100, "late", 11 }, /* the short one goes first, the long one not sooner */
		/* 3 */ { 100, "long", 3 },   /* 4 */ { 200, NULL, 11 },
		/* 5 */ { 200, "late", 10 }, /* bytes that are no messages: jobs stay in order */
		/* 6 */ { 200, "early", 10 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct sketch sketch;
		struct script script;

		sketch_pool(&sketch, rows[i].second_bytes);
		script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
		double got_ms = makespan_ms(&sketch, &script, rows[i].gone);
		ck_assert_msg(fabs(got_ms - rows[i].expected_ms) < 0.01, "row %zu: %g ms, not %g",
			      i, got_ms, rows[i].expected_ms);
		script_free(&script);
		sketch_free(&sketch);
	}
}
END_TEST

START_TEST(writes_know_the_jobs_that_came_of_them)
{
	struct sketch sketch;
	struct script script;

	sketch_pool(&sketch, 100);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.flows.transfer_count, 4);
	ck_assert_uint_eq(script.messages.rooms[0].count, 4);
	for (uint32_t i = 0, writes = 0; i < 4; i++) {
		bool is_write = script.flows.transfers[i].is_write;

		ck_assert_uint_eq(script.messages.job_of[i], is_write ? writes : NO_INDEX);
		writes += is_write;
	}
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* The first of two connections brings the second job, and the second one the first. */
static void expect_jobs_in_turn(struct sketch *sketch)
{
	struct script script;
	uint32_t write = 0;

	script_build(&script, &sketch->rec, &sketch->classes, &as_recorded);
	for (size_t i = 0; i < script.flows.transfer_count; i++) {
		const struct transfer *transfer = &script.flows.transfers[i];

		if (!transfer->is_write ||
		    script.flows.flows[transfer->flow].unit != FLOW_CONNECTIONS)
			continue;
		ck_assert_uint_eq(script.messages.job_of[i], write ? 0 : 1);
		write++;
	}
	ck_assert_uint_eq(write, 2);
	script_free(&script);
	sketch_free(sketch);
}

/* Two clients connect at once, and the second one is accepted first. */
START_TEST(a_connection_is_that_of_its_bytes)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 9);
	for (uint32_t i = 1; i <= 2; i++) {
		const char *here = i == 1 ? "tcp 1.1.1.1:5>1.1.1.1:80" : "tcp 1.1.1.1:6>1.1.1.1:80";
		const char *there =
			i == 1 ? "tcp 1.1.1.1:80>1.1.1.1:6" : "tcp 1.1.1.1:80>1.1.1.1:5";
		uint32_t client = sketch_thread(&sketch, "client", 0, 4);
		uint32_t worker = sketch_thread(&sketch, "worker", 0, 9);

		sketch_io(&sketch, client, "connect", here, 0, 0.9 + 0.1 * i, 1.5);
		sketch_io(&sketch, client, "write", here, 100, 2, 2);
		sketch_io(&sketch, worker, "accept", "tcp listen 1.1.1.1:80", 0, 0, 1.3 + 0.1 * i);
		sketch_io(&sketch, worker, "read", there, 100, 1.6, 2.1);
		sketch_sleep(&sketch, worker, "job", 3, 9);
	}
	sketch_end(&sketch);
	expect_jobs_in_turn(&sketch);
}
END_TEST

/* A loop connects twice, and then writes on both connections; those who accept take them the other
 * way round. */
START_TEST(a_loop_writes_on_the_connection_of_its_descriptor)
{
	static const char *const here[] = { "tcp 1.1.1.1:5>1.1.1.1:80",
					    "tcp 1.1.1.1:6>1.1.1.1:80" };
	static const char *const there[] = { "tcp 1.1.1.1:80>1.1.1.1:6",
					     "tcp 1.1.1.1:80>1.1.1.1:5" };
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "loop", 0, 9);
	for (int i = 0; i < 2; i++) {
		uint32_t op =
			sketch_io(&sketch, 0, "connect", here[i], 0, 1 + 0.1 * i, 1.01 + 0.1 * i);

		sketch.rec.extras[op].fd = 3 + i;
	}
	for (int i = 0; i < 2; i++) {
		uint32_t op =
			sketch_io(&sketch, 0, "write", here[i], 100, 2 + 0.1 * i, 2 + 0.1 * i);

		sketch.rec.extras[op].fd = 3 + i;
	}
	for (int i = 0; i < 2; i++) {
		uint32_t worker = sketch_thread(&sketch, "worker", 0, 9);

		sketch_io(&sketch, worker, "accept", "tcp listen 1.1.1.1:80", 0, 0, 1.3 + 0.1 * i);
		sketch_io(&sketch, worker, "read", there[i], 100, 1.6, 2.2);
		sketch_sleep(&sketch, worker, "job", 3, 9);
	}
	sketch_end(&sketch);
	expect_jobs_in_turn(&sketch);
}
END_TEST

SUITE()
{
	TEST(the_job_comes_with_its_message);
	TEST(writes_know_the_jobs_that_came_of_them);
	TEST(a_connection_is_that_of_its_bytes);
	TEST(a_loop_writes_on_the_connection_of_its_descriptor);
}
