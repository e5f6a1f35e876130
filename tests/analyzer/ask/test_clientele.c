/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if more clients are not served as the program would do it, or if that is guessed. */
#include "ask/clientele.h"

#include <errno.h>

#include "client_server.h"
#include "replayed.h"
#include "script/script_valid.h"
#include "suite.h"

enum { REQUESTS = 20 };

static const char *const connections[] = { "tcp 1.2.3.4:80>1.2.3.4:5001",
					   "tcp 1.2.3.4:80>1.2.3.4:5002" };

/* Each client asks every 10 ms, 5.5 ms after an answer that takes 4.5 ms. */

/* A thread for each. */
static void threads(struct sketch *sketch, uint32_t count)
{
	for (uint32_t t = 0; t < count; t++) {
		sketch_thread(sketch, "serve", 0, 1000);
		for (int i = 0; i < REQUESTS; i++)
			served_request(sketch, t, connections[t], i ? 10 * i + 4.5 : 0, 10 * i + 10,
				       4);
	}
}

static void two_threads(struct sketch *sketch)
{
	threads(sketch, 2);
}

static void one_thread(struct sketch *sketch)
{
	threads(sketch, 1);
}

/* One thread that polls, or does not, and serves them in turn. Of 10 ms it is idle for 1. */
static void in_turn(struct sketch *sketch, bool polls)
{
	sketch_thread(sketch, "loop", 0, 1000);
	for (int i = 0; i < 2 * REQUESTS; i++) {
		double from_ms = i ? 5 * i + 9.5 : 0, at_ms = 5 * i + 10;

		if (polls)
			served_poll(sketch, 0, 1, from_ms, at_ms);
		served_request(sketch, 0, connections[i % 2], polls ? at_ms : from_ms, at_ms, 4);
	}
}

static void event_loop(struct sketch *sketch)
{
	in_turn(sketch, true);
}

static void one_after_the_other(struct sketch *sketch)
{
	in_turn(sketch, false);
}

/* A thread for each, which asks a thread of its own, which works. */
static void with_others_behind(struct sketch *sketch)
{
	static const char *const asking[] = { "tcp a>b", "tcp c>d" };
	static const char *const answering[] = { "tcp b>a", "tcp d>c" };

	for (uint32_t t = 0; t < 2; t++) {
		sketch_thread(sketch, "serve", 0, 1000);
		for (int i = 0; i < REQUESTS; i++) {
			double at_ms = 10 * i + 10, done_ms = at_ms + 4;

			served_call(sketch, 2 * t, "read", connections[t], 10, i ? at_ms - 5.5 : 0,
				    at_ms);
			sketch_io(sketch, 2 * t, "write", asking[t], 7, at_ms, at_ms);
			sketch_io(sketch, 2 * t, "read", asking[t], 9, at_ms, done_ms);
			served_call(sketch, 2 * t, "write", connections[t], 20, done_ms,
				    done_ms + 0.5);
		}
		sketch_thread(sketch, "store", 0, 1000);
		for (int i = 0; i < REQUESTS; i++) {
			double at_ms = 10 * i + 10;

			sketch_io(sketch, 2 * t + 1, "read", answering[t], 7, i ? at_ms - 6 : 0,
				  at_ms);
			sketch_io(sketch, 2 * t + 1, "work", "file /x", 1, at_ms, at_ms + 4);
			sketch_io(sketch, 2 * t + 1, "write", answering[t], 9, at_ms + 4,
				  at_ms + 4);
		}
	}
}

/* The server goes on serving. */
static void build(struct sketch *sketch, struct script *script, void serve(struct sketch *),
		  enum clients_word clients)
{
	const struct script_options options = { .clients = { clients, 0 } };

	sketch_begin(sketch);
	serve(sketch);
	for (size_t i = 0; i < sketch->rec.thread_count; i++)
		sketch->rec.extras[sketch->rec.threads[i].op].open = true;
	sketch->rec.open_op_count = sketch->rec.thread_count;
	sketch_end(sketch);
	script_build(script, &sketch->rec, &sketch->classes, &options);
}

static const struct {
	void (*serve)(struct sketch *);
	double times;
	double makespan_ms, p50_ms;
} rows[] = {
	/* 0: nothing changes */ { two_threads, 1, 10 + 190 + 4.5, 4.5 },
	/* 1: the second half of them begins with a thought */
	{ two_threads, 2, 10 + 5.5 + 90 + 4.5, 4.5 },
	/* 2 */ { two_threads, 4, 10 + 5.5 + 40 + 4.5, 4.5 },
	/* 3: a thread for either, but one that asks them in turn */
	{ two_threads, 0.5, 10 + 38 * 10 + 2 * 4.5, 4.5 },
	/* 4: half as many are still one */ { one_thread, 0.5, 10 + 190 + 4.5, 4.5 },
	/* 5: it can do no more */ { event_loop, 2, 10 + 40 * 4.5, 3 * 4.5 - 1 },
	/* 6 */ { with_others_behind, 2, 10 + 5.5 + 90 + 4.5, 4.5 },
};

START_TEST(more_clients_are_served_as_these_are)
{
	struct sketch sketch;
	struct script script, changed;
	char error[OPTIONS_ERROR_BYTES] = "";

	build(&sketch, &script, rows[_i].serve, CLIENTS_TAKEN_CLOSED);
	struct replay_answer before = replayed_script(&script, NO_INDEX, 1);

	changed = script;
	ck_assert_msg(!clientele_change(&changed, &script, rows[_i].times, error), "%s", error);
	ck_assert(script_is_valid(&changed));
	struct replay_answer after = replayed_script(&changed, NO_INDEX, 1);

	ck_assert_uint_eq(before.forced_steps, 0);
	ck_assert_uint_eq(after.forced_steps, 0);
	ck_assert_double_eq_tol(after.makespan_ns / 1e6, rows[_i].makespan_ms, 1);
	ck_assert_double_eq_tol(after.requests_ns[REQUEST_P50] / 1e6, rows[_i].p50_ms, 1);
	clientele_free(&changed);
	ck_assert_double_eq(replayed_script(&script, NO_INDEX, 1).makespan_ns, before.makespan_ns);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

static const struct {
	void (*serve)(struct sketch *);
	enum clients_word clients;
	const char *why;
} refused[] = {
	/* 0 */ { one_after_the_other, CLIENTS_TAKEN_CLOSED, "one client after the other" },
	/* 1: it may have a thread for each */
	{ one_thread, CLIENTS_TAKEN_CLOSED, "one client alone" },
	/* 2 */ { two_threads, CLIENTS_TAKEN_OPEN, "ask for load" },
};

START_TEST(what_is_not_known_is_not_guessed)
{
	struct sketch sketch;
	struct script script, changed;
	char error[OPTIONS_ERROR_BYTES] = "";

	build(&sketch, &script, refused[_i].serve, refused[_i].clients);
	changed = script;
	ck_assert_int_eq(clientele_change(&changed, &script, 2, error), -EINVAL);
	ck_assert_msg(strstr(error, refused[_i].why), "%s", error);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(there_are_none)
{
	struct script script = { 0 }, changed = script;
	char error[OPTIONS_ERROR_BYTES];

	ck_assert_int_eq(clientele_change(&changed, &script, 2, error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error, "no connection was accepted"));
}
END_TEST

SUITE()
{
	EACH(more_clients_are_served_as_these_are, rows);
	EACH(what_is_not_known_is_not_guessed, refused);
	TEST(there_are_none);
}
