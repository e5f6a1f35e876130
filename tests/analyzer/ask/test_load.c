/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if more load is not more requests in the same time, or if clients that wait get more. */
#include "ask/load.h"

#include <errno.h>

#include "ask/variant.h"
#include "client_server.h"
#include "replay/simulate.h"
#include "suite.h"

static const struct script_options as_open = { .clients = { CLIENTS_TAKEN_OPEN, 0 } };
static const struct script_options as_closed = { .clients = { CLIENTS_TAKEN_CLOSED, 0 } };

/* 20 requests of 4 ms, one each 10 ms. */
static void serve(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "serve", 0, 500);
	for (int i = 0; i < 20; i++)
		served_request(sketch, 0, "tcp 1.2.3.4:80>1.2.3.4:5001", i ? 10 * i + 4.5 : 0,
			       10 * i + 10, 4);
	for (uint32_t i = 0; i < 2; i++) /* it goes on serving */
		sketch->rec.extras[i].open = true;
	sketch->rec.open_op_count = 2;
	sketch_end(sketch);
}

static const struct {
	double times;
	double makespan_ms;
	double p50_ms;
} rows[] = {
	/* 0 */ { 1, 10 + 190 + 4.5, 4.5 },
	/* 1 */ { 2, (10 + 190) / 2.0 + 4.5, 4.5 },
	/* 2: more than it can do */ { 4, 10 / 4.0 + 20 * 4.5, 4.5 },
	/* 3 */ { 0.5, (10 + 190) * 2 + 4.5, 4.5 },
};

START_TEST(open_clients_send_more_often)
{
	struct sketch sketch;
	struct script script;
	struct variant variant;
	struct machine machine;
	char error[OPTIONS_ERROR_BYTES];
	const struct question question = { .load_times = rows[_i].times };

	serve(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_open);
	machine_begin(&machine, &script, 0);
	ck_assert_int_eq(
		variant_build(&variant, &script, &machine, &sketch.classes, &question, 0, error),
		0);
	const struct replayer replayer = simulate_replayer(variant.script, &variant.machine);
	const struct trial trial = { .count = 0 };
	struct replay_answer answer = replayer_try(&replayer, &trial);

	ck_assert_double_eq_tol(answer.makespan_ns / 1e6, rows[_i].makespan_ms, 0.01);
	variant_free(&variant);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

static double makespan_ms(const struct script *script)
{
	struct machine machine;

	machine_begin(&machine, script, 0);
	const struct replayer replayer = simulate_replayer(script, &machine);
	const struct trial trial = { .count = 0 };

	return replayer_try(&replayer, &trial).makespan_ns / 1e6;
}

/* Answers take 4.5 of 10 ms, and clients think for the rest. */
static const struct {
	double times;
	double makespan_ms;
} closed[] = {
	/* 0 */ { 1, 10 + 190 + 4.5 },
	/* 1: of 194.5 ms half are left, of which 20 * 4.5 are answers */
	{ 2, 10 + 194.5 / 2 },
	/* 2 */ { 0.5, 10 + 194.5 * 2 },
};

START_TEST(clients_that_wait_think_less)
{
	struct sketch sketch;
	struct script script;
	char error[OPTIONS_ERROR_BYTES];

	serve(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_closed);
	ck_assert_int_eq(load_change(&script, closed[_i].times, error), 0);
	ck_assert_double_eq_tol(makespan_ms(&script), closed[_i].makespan_ms, 0.01);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(who_cannot_send_more_is_told_why)
{
	struct sketch sketch;
	struct script script;
	char error[OPTIONS_ERROR_BYTES];

	serve(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_closed);
	ck_assert_int_eq(load_change(&script, 3, error), -EINVAL);
	ck_assert_msg(strstr(error,
			     "waits for its answers, and thinks for 54% of its time: without "
			     "that, load*2.16"),
		      "%s", error);
	script.clients.count = 0;
	ck_assert_int_eq(load_change(&script, 2, error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error, "no connection was accepted"));
	script.clients.count = 1;
	script.clients.end = CLIENTS_END_ONE_THREAD;
	ck_assert_int_eq(load_change(&script, 0.5, error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error, "one thread has all clients"));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(open_clients_send_more_often, rows);
	EACH(clients_that_wait_think_less, closed);
	TEST(who_cannot_send_more_is_told_why);
}
