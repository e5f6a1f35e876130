/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if clients that are one thread ask more than it can, or those of their own do not. */
#include "replay/simulate.h"

#include "ask/variant.h"
#include "client_queue.h"
#include "replayed.h"
#include "suite.h"

static const struct {
	struct client_queue queue;
	double factor; /* of the server's work */
	double times;  /* as many clients */
} rows[] = {
	/* 0: nothing changes */ { { 1, 0.5, 5, 0.5, 0, 0, 0, 0 }, 1, 1 },
	/* 1: it is the thread that limits */ { { 1, 0.5, 5, 0.5, 0, 0, 0, 0 }, 0.1, 1 },
	/* 2 */ { { 1, 0.5, 5, 0.5, 0, 0, 0, 0 }, 1, 2 },
	/* 3: then the server does */ { { 1, 0.5, 5, 0.5, 0, 0, 0, 0 }, 8, 1 },
	/* 4: the other way round */ { { 1, 0.5, 3, 1.5, 0, 0, 0, 0 }, 2, 1 },
	/* 5 */ { { 1, 0.5, 3, 1.5, 0, 0, 0, 0 }, 0.2, 1 },
	/* 6: each for itself */ { { 0, 1, 20, 1, 0, 0, 0, 0 }, 0.2, 1 },
};

/* The same clients and server, made so. */
static double made_ms(const struct client_queue *recorded, double factor)
{
	struct client_queue queue = *recorded;
	struct queue_run run;
	struct sketch sketch;

	queue.serve_ms *= factor;
	queue_sketch(&sketch, &queue, &run);
	sketch_free(&sketch);
	return run.makespan_ms;
}

START_TEST(a_faster_server_gets_what_its_clients_can_send)
{
	static const struct script_options as_recorded = { 0 };
	struct queue_run run;
	const struct question question = { .clients_times = rows[_i].times };
	char error[OPTIONS_ERROR_BYTES];
	struct sketch sketch;
	struct script script;
	struct variant variant;
	struct machine machine;

	queue_sketch(&sketch, &rows[_i].queue, &run);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	machine_begin(&machine, &script, 0);
	ck_assert_int_eq(
		variant_build(&variant, &script, &machine, &sketch.classes, &question, 0, error),
		0);
	struct replay_answer answer =
		replayed_script(variant.script, sketch_class(&sketch, "work"), rows[_i].factor);
	double expected_ms = made_ms(&rows[_i].queue, rows[_i].factor);

	ck_assert_uint_eq(answer.forced_steps, 0);
	ck_assert_double_eq_tol(answer.makespan_ns / 1e6, expected_ms, expected_ms * 0.05);
	variant_free(&variant);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

static const struct {
	struct client_queue queue;
	bool wakes_clients;
} rests[] = {
	/* 0: long ones */ { { 1, 0.5, 3, 0.5, 0, 0, 2, 0.2 }, false },
	/* 1: short ones cost nothing */ { { 1, 0.005, 0.03, 0.005, 0, 0, 0, 0 }, false },
	/* 2: or as much */ { { 1, 0.005, 0.03, 0.005, 0, 0, 0.02, 0 }, true },
};

START_TEST(a_thread_that_has_rested_for_long_is_late)
{
	static const struct script_options as_recorded = { 0 };
	struct client_queue prompt = rests[_i].queue;
	double expected_ms = made_ms(&rests[_i].queue, 1);
	struct queue_run run;
	struct sketch sketch;
	struct script script;

	prompt.back_ms = 0;
	queue_sketch(&sketch, &prompt, &run);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_int_eq(script.clients.end, CLIENTS_END_ONE_THREAD);
	script.clients.back_ns =
		rests[_i].queue.back_ms > 0 ? (uint64_t)(rests[_i].queue.back_ms * 1e6) : SKETCH_MS;
	struct replay_answer answer = replayed_script_trial(
		&script, (struct trial){ .wakes_clients = rests[_i].wakes_clients }, NO_INDEX, 1);

	ck_assert_uint_eq(answer.forced_steps, 0);
	ck_assert_double_eq_tol(answer.makespan_ns / 1e6, expected_ms, expected_ms * 0.05);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_thread_that_has_rested_for_long_is_late, rests);
	EACH(a_faster_server_gets_what_its_clients_can_send, rows);
}
