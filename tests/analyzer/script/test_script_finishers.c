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

enum { QUESTIONS = 4 };

/* A server tidies up when all is answered; clients may be recorded with it. */
static const struct {
	bool has_client;
	bool is_child;  /* of the server */
	bool has_ended; /* the server */
	bool counts;    /* its tidying up */
	double end_ms;
} servings[] = {
	{ false, false, false, true, 100 }, /* nobody */
	{ true, false, false, false, 46 },  /* another program */
	{ true, true, false, true, 100 },   /* its own child: all is one program */
	{ true, false, true, true, 100 },   /* another program, and the server has ended */
};

START_TEST(a_server_is_done_when_those_that_it_serves_are)
{
	struct sketch sketch;
	struct script script;
	struct rec_process processes[2] = { { .pid = 7 }, { .pid = 8 } };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "server", 0, 100);
	sketch_thread(&sketch, "client", 0, 100);
	processes[0].op = sketch.rec.processes[0].op;
	processes[1].op = sketch_op(&sketch, KIND_PROCESS, "client", NO_INDEX, 0, 100);
	processes[1].ppid = servings[_i].is_child ? 7 : 1;
	sketch.rec.threads[1].process = 1;
	for (uint32_t i = 0; i < 2; i++) {
		bool has_ended = i == 0 && servings[_i].has_ended;

		sketch.rec.extras[processes[i].op].open = !has_ended;
		sketch.rec.extras[sketch.rec.threads[i].op].open = !has_ended;
	}
	for (int i = 0; i < QUESTIONS; i++) {
		double ask_ms = 10 * i + 5;

		sketch_io(&sketch, 0, "read", "tcp b>a", 10, i ? ask_ms - 4 : 0, ask_ms + 0.1);
		sketch_io(&sketch, 0, "write", "tcp b>a", 20, ask_ms + 6, ask_ms + 6.1);
		if (!servings[_i].has_client)
			continue;
		sketch_io(&sketch, 1, "write", "tcp a>b", 10, ask_ms, ask_ms);
		sketch_io(&sketch, 1, "read", "tcp a>b", 20, ask_ms, ask_ms + 6.2);
	}
	sketch_io(&sketch, 1, "write", "file out", 5, 45, 46);
	sketch_io(&sketch, 0, "fsync", "file log", 0, 60, 100);
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_int_eq(script.actors[0].counts, servings[_i].counts);
	ck_assert_uint_eq(script.actual_ns, (uint64_t)(servings[_i].end_ms * 1e6));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_finished_program_ends_with_the_thread_that_ended_it);
	TEST(a_living_server_ends_with_its_last_piece_of_work);
	EACH(a_ticker_ends_nothing, tickers);
	LOOP(a_living_server_has_its_children_work, 0, 2);
	EACH(a_server_is_done_when_those_that_it_serves_are, servings);
}
