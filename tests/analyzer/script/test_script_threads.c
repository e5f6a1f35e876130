/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if the makespan is not that of the threads that a program ends with. */
#include "script/script.h"

#include "sketch.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

START_TEST(a_finished_program_ends_with_the_thread_that_ended_it)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 30);
	sketch_thread(&sketch, "detached", 0, 29);
	sketch.rec.extras[sketch.rec.threads[1].op].open = true;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert(script.actors[0].counts && !script.actors[1].counts);
	ck_assert_uint_eq(script.actual_ns, 30 * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_living_server_ends_with_its_last_piece_of_work)
{
	struct sketch sketch;
	struct script script;

	/* a worker that serves until 20 and then only times out, and a ticker that does nothing
	 * else */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "worker", 0, 100);
	sketch_thread(&sketch, "ticker", 0, 100);
	sketch.rec.extras[sketch.rec.processes[0].op].open = true;
	for (uint32_t t = 0; t < 2; t++)
		sketch.rec.extras[sketch.rec.threads[t].op].open = true;
	sketch_io(&sketch, 0, "read", "", 10, 5, 20);
	sketch_op(&sketch, KIND_POLL, "epoll_wait", 0, 21, 60);
	sketch_op(&sketch, KIND_POLL, "epoll_wait", 0, 61, 100);
	for (int i = 0; i < 10; i++)
		sketch_sleep(&sketch, 1, "tick", 10 * i, 10 * i + 9);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert(script.actors[0].counts && !script.actors[1].counts);
	ck_assert_uint_eq(script.actual_ns, 21 * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* The second thread of a living program ticks, and takes a lock each time. The first works for so
 * long, and a third may wait for a permit that the second posts then. */
static const struct {
	double work_ms;
	double post_ms; /* 0 = none */
	bool is_awaited;
	bool ticks;
	double end_ms;
	/* Most of its time it is in a call for its own sake. Or data came for it once, and then it
	 * sleeps, or polls for more. */
	enum { SLEEPS, SYNCS, IS_WOKEN, LISTENS } also;
} tickers[] = {
	/* 0 */ { 20, 0, false, true, 32, SLEEPS },
	/* 1: it does more than the other */ { 2, 0, false, false, 99.2, SLEEPS },
	/* 2 */ { 20, 9.15, true, true, 32, SLEEPS },
	/* 3: it lets somebody go, nobody knows whom */ { 20, 79.15, false, false, 99.2, SLEEPS },
	/* 4: who ends in its place */ { 20, 79.15, true, true, 79.15, SLEEPS },
	/* 5: it need not sleep for long */ { 20, 0, false, true, 32, SYNCS },
	/* 6: it is no clock that lets it work */
	{ 20, 0, false, false, 99.2, IS_WOKEN },
	/* 7: since then only the clock did */
	{ 20, 0, false, true, 32, LISTENS },
};

static void tick(struct sketch *sketch, double from_ms, double to_ms, int also)
{
	if (also != LISTENS) {
		sketch_sleep(sketch, 1, "tick", from_ms, to_ms);
		return;
	}
	uint32_t poll = sketch_op(sketch, KIND_POLL, "epoll_wait", 1, from_ms, to_ms);

	sketch->rec.extras[poll].amount = from_ms <= 0;
	sketch->rec.ops[poll].outcome = OUTCOME_OK;
}

START_TEST(a_ticker_ends_nothing)
{
	struct sketch sketch;
	struct script script;
	double post_ms = tickers[_i].post_ms, work_ms = tickers[_i].work_ms;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "worker", 0, 100);
	sketch_thread(&sketch, "ticker", 0, 100);
	sketch_thread(&sketch, "idle", 0, 100);
	sketch.rec.extras[sketch.rec.processes[0].op].open = true;
	for (uint32_t t = 0; t < 3; t++)
		sketch.rec.extras[sketch.rec.threads[t].op].open = true;
	sketch_op(&sketch, KIND_POLL, "epoll_wait", 0, 1, 10);
	sketch.rec.extras[sketch.rec.op_count - 1].amount = 1;
	sketch_io(&sketch, 0, "write", "", 10, 10 + work_ms, 31);
	sketch_op(&sketch, KIND_POLL, "epoll_wait", 0, 32, 100);
	for (int i = 0; i < 10; i++) {
		double asleep_ms = tickers[_i].also == SYNCS ? 3 : 9;

		tick(&sketch, 10 * i, 10 * i + asleep_ms, tickers[_i].also);
		if (tickers[_i].also == SYNCS)
			sketch_io(&sketch, 1, "fsync", "file log", 0, 10 * i + 3, 10 * i + 9);
		sketch_hold(&sketch, 1, "M", 2, 10 * i + 9.1, 10 * i + 9.2);
	}
	if (tickers[_i].also >= IS_WOKEN)
		sketch_io(&sketch, 1, "read", "tcp 1.2.3.4:5", 3, 9.4, 9.5);
	if (post_ms > 0) {
		if (tickers[_i].is_awaited)
			sketch_wait(&sketch, 2, REASON_SEM, "S", 1, post_ms, NO_INDEX);
		sketch_link(&sketch, 1, LINK_POST, "S", post_ms, 0, NO_INDEX);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert(script.actors[0].counts);
	ck_assert_int_eq(script.actors[1].counts, !tickers[_i].ticks);
	ck_assert_int_eq(script.actors[1].ticks, tickers[_i].ticks);
	ck_assert_uint_eq(script.actual_ns, (uint64_t)(tickers[_i].end_ms * 1e6));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_program_goes_on_by_exec)
{
	struct sketch sketch;
	struct script script;
	struct rec_process processes[2] = { { .pid = 1, .client = 1, .cpus = 2 },
					    { .pid = 1, .client = 1, .cpus = 1 } };

	/* one process of two images: the second begins where the first ends, and ends the whole */
	sketch_begin(&sketch);
	sketch_string(&sketch, "1:1");
	sketch_thread(&sketch, "main", 0, 10);
	processes[0].op = sketch.rec.processes[0].op;
	sketch_thread(&sketch, "main", 12, 40);
	processes[1].op = sketch_op(&sketch, KIND_PROCESS, "next", NO_INDEX, 12, 40);
	sketch.rec.threads[1].tid = 1;
	sketch.rec.threads[1].process = 1;
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert(script.actors[1].is_spawned && !script.actors[0].is_spawned);
	ck_assert(script.actors[1].counts && !script.actors[0].counts);
	ck_assert_uint_eq(script.actual_ns, 40 * SKETCH_MS);
	ck_assert_double_eq(script.recorded_cpus, 1);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* In one that has ended, _i == 1, nobody waits for what its children still do. */
/* A child that does nothing between fork and exec: its first image has no threads. */
START_TEST(a_child_goes_on_by_exec_at_once)
{
	struct sketch sketch;
	struct script script;
	struct rec_process processes[3] = { { .pid = 1, .client = 1 },
					    { .pid = 2, .client = 2 },
					    { .pid = 2, .client = 2 } };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "parent", 0, 40);
	processes[0].op = sketch.rec.processes[0].op;
	sketch_thread(&sketch, "child", 12, 30);
	processes[1].op = sketch_op(&sketch, KIND_PROCESS, "fork", NO_INDEX, 9, 11);
	processes[2].op = sketch_op(&sketch, KIND_PROCESS, "next", NO_INDEX, 12, 30);
	sketch.rec.threads[1].process = 2;
	sketch.rec.processes = processes;
	sketch.rec.process_count = 3;
	uint32_t link = sketch_link(&sketch, 0, LINK_NESTED_CLIENT, "", 10, 0, NO_INDEX);
	sketch.rec.links[link].ident = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert(script.actors[1].is_spawned && !script.actors[0].is_spawned);
	ck_assert(script.actors[0].counts && !script.actors[1].counts);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_living_server_has_its_children_work)
{
	struct sketch sketch;
	struct script script;
	struct rec_process processes[2] = { { .pid = 1 }, { .pid = 2 } };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	processes[0].op = sketch.rec.processes[0].op;
	sketch_thread(&sketch, "worker", 3, 100);
	processes[1].op = sketch_op(&sketch, KIND_PROCESS, "worker", NO_INDEX, 3, 100);
	sketch_link(&sketch, 0, LINK_SPAWN, "", 2, 1, sketch.rec.threads[1].op);
	sketch.rec.threads[1].process = 1;
	sketch.rec.extras[processes[1].op].open = true;
	sketch.rec.extras[sketch.rec.threads[1].op].open = true;
	if (_i == 0) {
		sketch.rec.extras[processes[0].op].open = true;
		sketch.rec.extras[sketch.rec.threads[0].op].open = true;
	}
	sketch_io(&sketch, 0, "read", "", 10, 2, 5);
	sketch_op(&sketch, KIND_POLL, "epoll_wait", 0, 6, 99);
	sketch_io(&sketch, 1, "write", "", 10, 50, 60);
	sketch_op(&sketch, KIND_POLL, "epoll_wait", 1, 61, 99);
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert(script.actors[1].is_spawned);
	ck_assert_int_eq(script.actors[1].counts, _i == 0);
	ck_assert_uint_eq(script.actual_ns, (_i == 0 ? 61 : 100) * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_thread_that_no_link_starts_was_started_by_who_ran_last)
{
	struct sketch sketch;
	struct script script;

	/* main runs from 10 on, is in a call when the helper starts at 25; another one sleeps */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 50);
	sketch_thread(&sketch, "asleep", 0, 50);
	sketch_thread(&sketch, "helper", 25, 40);
	sketch_sleep(&sketch, 0, "first", 0, 10);
	sketch_sleep(&sketch, 0, "second", 20, 50);
	sketch_sleep(&sketch, 1, "long", 1, 50);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert(script.actors[2].is_spawned);
	const struct step *step = &script.steps[script.actors[0].first_step];
	for (; step->type != STEP_END && step->type != STEP_SPAWN; step++)
		;
	ck_assert_int_eq(step->type, STEP_SPAWN);
	ck_assert(!script.actors[1].is_spawned);
	ck_assert_uint_eq(step->arg, 2);
	ck_assert_uint_eq(step->ns, 15 * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* The second thread got the first one's handle, and began late. The recorder took it for that. */
START_TEST(a_thread_is_joined_once)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	sketch_thread(&sketch, "first", 1, 4);
	uint32_t first = sketch.rec.threads[1].op;
	sketch_thread(&sketch, "second", 6, 10);
	sketch_wait(&sketch, 0, REASON_JOIN, "T", 2, 4.5, first);
	sketch_wait(&sketch, 0, REASON_JOIN, "T", 5, 10.5, first);
	/* a thread that had ended is joined at once */
	sketch_thread(&sketch, "third", 11, 12);
	sketch_wait(&sketch, 0, REASON_JOIN, "T", 13, 13.25, sketch.rec.threads[3].op);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct {
		uint32_t actor;
		double latency_ms;
	} joins[] = { { 1, 0.5 }, { 2, 0.5 }, { 3, 0.25 } };
	size_t found = 0;
	const struct step *step = &script.steps[script.actors[0].first_step];

	for (; step->type != STEP_END; step++) {
		if (step->type != STEP_JOIN)
			continue;
		ck_assert_uint_lt(found, 3);
		ck_assert_uint_eq(step->arg, joins[found].actor);
		ck_assert_double_eq_tol((double)step->ns / 1e6, joins[found].latency_ms, 1e-6);
		found++;
	}
	ck_assert_uint_eq(found, 3);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_finished_program_ends_with_the_thread_that_ended_it);
	TEST(a_living_server_ends_with_its_last_piece_of_work);
	EACH(a_ticker_ends_nothing, tickers);
	TEST(a_program_goes_on_by_exec);
	TEST(a_child_goes_on_by_exec_at_once);
	LOOP(a_living_server_has_its_children_work, 0, 2);
	TEST(a_thread_that_no_link_starts_was_started_by_who_ran_last);
	TEST(a_thread_is_joined_once);
}
