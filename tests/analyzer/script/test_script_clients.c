/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a faster server gets no more to do from clients that wait for it, or gets more from
 * clients that do not. */
#include "client_server.h"
#include "replayed.h"
#include "script/script_parts.h"
#include "steps.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

/* 20 requests of 1 to 4 ms of work, each 4 ms after the answer before, or 10 ms after another. One
 * more thread may do something else for longer. */
static void serve(struct sketch *sketch, bool is_open, bool has_keeper)
{
	double read_ms = 0, sent_ms = 4;

	sketch_begin(sketch);
	sketch_thread(sketch, "serve", 0, 500);
	for (int i = 0; i < 20; i++) {
		double work_ms = 1 + i % 4;

		served_request(sketch, 0, "tcp 1.2.3.4:80>1.2.3.4:5001", read_ms, sent_ms, work_ms);
		read_ms = sent_ms + work_ms + 0.5;
		sent_ms = is_open ? sent_ms + 10 : read_ms + 4;
	}
	for (uint32_t i = 0; i < 2; i++) /* it goes on serving */
		sketch->rec.extras[i].open = true;
	sketch->rec.open_op_count = 2;
	if (has_keeper) {
		sketch_thread(sketch, "keeper", 0, 500);
		sketch->rec.extras[sketch->rec.threads[1].op].open = true;
		sketch->rec.open_op_count++;
		sketch_io(sketch, 1, "fdatasync", "file log", 0, 100, 400);
	}
	sketch_end(sketch);
}

static const struct {
	bool is_open;
	bool has_keeper;
	double recorded_ms;
	double halved_ms;
} rows[] = {
	/* 0: 25 ms of work are gone */ { false, false, 4 + 50 + 20 * 0.5 + 19 * 4, 115 },
	/* 1: only those of the last request */ { true, false, 4 + 19 * 10 + 4.5, 196.5 },
	/* 2: clients know nothing of who keeps the log */
	{ false, true, 4 + 50 + 20 * 0.5 + 19 * 4, 115 },
};

START_TEST(a_saving_is_of_throughput_or_latency)
{
	struct sketch sketch;
	struct script script;

	serve(&sketch, rows[_i].is_open, rows[_i].has_keeper);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_int_eq(script.clients.sort, rows[_i].is_open ? CLIENTS_OPEN : CLIENTS_CLOSED);
	ck_assert_uint_eq(script_recorded_actors(&script), rows[_i].has_keeper ? 2 : 1);
	uint32_t work = sketch_class(&sketch, "work");
	struct replay_answer as_it_was = replayed_script(&script, NO_INDEX, 1);
	struct replay_answer halved = replayed_script(&script, work, 0.5);

	ck_assert_double_eq_tol(as_it_was.makespan_ns / 1e6, rows[_i].recorded_ms, 0.01);
	ck_assert_double_eq_tol(halved.makespan_ns / 1e6, rows[_i].halved_ms, 0.01);
	ck_assert_double_eq_tol(
		(as_it_was.requests_ns[REQUEST_P50] - halved.requests_ns[REQUEST_P50]) / 1e6, 1.5,
		0.01);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_client_has_steps_of_its_own)
{
	struct sketch sketch;
	struct script script;

	serve(&sketch, false, false);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = {
		{ STEP_STAMP, 0 },        { STEP_SEND, 0 },  { STEP_RECEIVE, 0.500001 },
		{ STEP_DELAY, 3.999999 }, { STEP_STAMP, 0 }, { STEP_SEND, 0 },
	};

	expect_steps(&script, 1, steps, sizeof(steps) / sizeof(steps[0]));
	const struct step *step = &script.steps[script.actors[0].first_step];

	ck_assert_int_eq(step[0].type, STEP_RECEIVE);
	for (; step->type != STEP_END; step++) /* only the ends of requests are left there */
		ck_assert(step->type != STEP_STAMP || step->arg % 2);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Its thread comes back to a CPU for each request; its client needs none. */
START_TEST(a_client_uses_no_cpu)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;

	serve(&sketch, false, false);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert(!script.actors[0].is_client && script.actors[1].is_client);
	script.sleep_run_ns = 1000000;
	machine_begin(&machine, &script, 0);
	machine.cpus = 1;
	const struct replayer replayer = simulate_replayer(&script, &machine);

	for (int shares_cpus = 0; shares_cpus < 2; shares_cpus++) {
		const struct trial trial = { .shares_cpus = shares_cpus };
		struct replay_answer answer = replayer_try(&replayer, &trial);

		ck_assert_double_eq_tol(answer.makespan_ns / 1e6, rows[0].recorded_ms + 20, 0.1);
	}
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_client_thinks_until_its_thread_wakes_up)
{
	struct step steps[] = { { .type = STEP_DELAY, .ns = 5 }, { .type = STEP_DELAY, .ns = 1 } };
	struct think thinks[] = { { .step = 0 }, { .step = 1 } };
	struct script script = { .steps = steps, .step_count = 2, .sleep_run_ns = 2 };
	struct compiler compiler = { .script = &script,
				     .gathered = { .thinks = thinks, .think_count = 2 } };

	script_thinks_wake(&compiler);
	ck_assert_uint_eq(steps[0].ns, 3);
	ck_assert_uint_eq(steps[1].ns, 0);
}
END_TEST

/* A greeting is read, however long that took. */
START_TEST(a_greeting_may_take_no_time)
{
	const char *connection = "tcp 1.2.3.4:80>1.2.3.4:5001";
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 500);
	served_call(&sketch, 0, "write", connection, 20, 0, 0);
	served_request(&sketch, 0, connection, 0, 0, 1);
	for (int i = 1; i < 20; i++)
		served_request(&sketch, 0, connection, 1 + 10 * i, 7 + 10 * i, 1);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	size_t sends = 0, reads = 0;
	const struct step *step = &script.steps[script.actors[1].first_step];
	for (; step->type != STEP_END; step++) {
		sends += step->type == STEP_SEND;
		reads += step->type == STEP_RECEIVE;
	}
	ck_assert_uint_eq(sends, 20);
	ck_assert_uint_eq(reads, 21);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_greeting_may_take_no_time);
	EACH(a_saving_is_of_throughput_or_latency, rows);
	TEST(a_client_has_steps_of_its_own);
	TEST(a_client_uses_no_cpu);
	TEST(a_client_thinks_until_its_thread_wakes_up);
}
