/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a question would get the answer to another, or one without its doubts.
 */
#include "ask/asked.h"

#include "client_server.h"
#include "rebuilt.h"
#include "replay/simulate.h"
#include "suite.h"

#include <errno.h>

static const struct script_options as_closed = { .clients = { CLIENTS_TAKEN_CLOSED, 0 } };

static double sampling_error;

/* Asks about a sketch, which is freed. */
static int ask_with(struct sketch *sketch, double cpus, const char *question,
		    struct asked_answer *answer, char error[OPTIONS_ERROR_BYTES])
{
	struct script script;
	struct machine machine;
	struct asked asked;
	const struct text_list questions = { .texts = { "job*1", question }, .count = 2 };
	const char *names[SKETCH_MAX], *kinds[SKETCH_MAX];

	for (uint32_t i = 0; i < sketch->classes.count; i++) {
		uint16_t kind = sketch->classes.classes[i].kind;

		names[i] = sketch->strings[sketch->classes.classes[i].name];
		kinds[i] = kind == KIND_HOLD ? "hold" : kind == KIND_THREAD ? "thread" : "sleep";
	}
	script_build(&script, &sketch->rec, &sketch->classes, &as_closed);
	machine_begin(&machine, &script, cpus);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	const struct subjects all = { names, kinds, sketch->classes.count };
	double *error_of = memory_new(sketch->classes.count, sizeof(*error_of));
	struct estimator estimator;

	for (uint32_t i = 0; i < sketch->classes.count; i++)
		error_of[i] = sampling_error;
	estimator_begin(&estimator, &replayer, error_of);
	const struct asked_of of = { &estimator, &script, &sketch->classes, &all, NULL };
	int result = asked_build(&asked, &of, &questions, error);

	if (result == 0) {
		ck_assert_uint_eq(asked.count, 2);
		ck_assert_double_eq(asked.answers[0].estimate.saved_ns, 0);
		*answer = asked.answers[1];
	}
	estimator_end(&estimator);
	free(error_of);
	asked_free(&asked);
	script_free(&script);
	sketch_free(sketch);
	return result;
}

static int ask(struct sketch *sketch, const char *question, struct asked_answer *answer,
	       char error[OPTIONS_ERROR_BYTES])
{
	return ask_with(sketch, 0, question, answer, error);
}

static const struct {
	const char *question;
	double saved_ms;
} rows[] = {
	/* 0 */ { "job*0.5", 20 },
	/* 1 */ { "job*0.5,threads:worker*2", 30 },
	/* 2 */ { "job*0.5,job*0.5", 30 },
	/* 3 */ { "threads:worker*2", 20 },
	/* 4 */ { "threads:worker*0.5", -40 },
};

START_TEST(several_changes_are_made_at_once)
{
	struct sketch sketch;
	struct asked_answer answer;
	char error[OPTIONS_ERROR_BYTES] = "";

	rebuilt_pool(&sketch);
	ck_assert_msg(ask(&sketch, rows[_i].question, &answer, error) == 0, "%s", error);
	ck_assert_double_eq_tol(answer.estimate.saved_ns / 1e6, rows[_i].saved_ms, 0.01);
	ck_assert_double_eq_tol(answer.makespan_ns / 1e6, 40 - rows[_i].saved_ms, 0.01);
	ck_assert_double_eq(answer.estimate.least_ns, answer.estimate.saved_ns);
	ck_assert_double_eq(answer.estimate.most_ns, answer.estimate.saved_ns);
	ck_assert_str_eq(answer.text, rows[_i].question);
	ck_assert_uint_eq(answer.estimate.forced_steps, 0);
}
END_TEST

/* A thread answers two clients in turn. Unless it polls, it may always do so in this order. A
 * stranger's bytes come in this order, too: then one client asks twice as often. */
static void serve_in_turn(struct sketch *sketch, bool polls, bool meets_stranger)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "loop", 0, 1000);
	sketch_sleep(sketch, 0, "job", 0, 1);
	for (int i = 0; i < 40; i++) {
		double from_ms = i ? 5 * i + (meets_stranger ? 7.6 : 7.5) : 1, at_ms = 5 * i + 10;

		if (polls)
			served_poll(sketch, 0, 1, from_ms, at_ms);
		served_request(sketch, 0,
			       i % (meets_stranger ? 3 : 2) ? "tcp l:80>l:5001" : "tcp l:80>l:5002",
			       polls ? at_ms : from_ms, at_ms, 2);
		if (meets_stranger) {
			served_poll(sketch, 0, 1, at_ms + 2.5, at_ms + 2.6);
			sketch_io(sketch, 0, "read", "tcp l>x", 1, at_ms + 2.6, at_ms + 2.6);
		}
	}
	sketch->rec.extras[sketch->rec.threads[0].op].open = true;
	sketch->rec.open_op_count = 1;
	sketch_end(sketch);
}

static const struct {
	bool polls, meets_stranger;
	const char *refused; /* NULL = it is not */
} servers[] = {
	{ true, false, NULL },
	{ false, false, "one client after the other" },
	{ true, true, "in an order that only the recording knows" },
};

START_TEST(more_clients_are_asked_about)
{
	struct sketch sketch;
	struct asked_answer answer;
	char error[OPTIONS_ERROR_BYTES] = "";
	const char *refused = servers[_i].refused;

	serve_in_turn(&sketch, servers[_i].polls, servers[_i].meets_stranger);
	int result = ask(&sketch, "clients*2", &answer, error);

	ck_assert_msg(result == (refused ? -EINVAL : 0), "%d %s", _i, error);
	if (refused)
		ck_assert_msg(strstr(error, refused), "%s", error);
	else
		ck_assert_double_eq_tol(answer.makespan_ns / 1e6, 10 + 5 + 40 * 2.5, 1);
}
END_TEST

START_TEST(a_split_lock_has_a_range)
{
	struct sketch sketch;
	struct asked_answer answer;
	char error[OPTIONS_ERROR_BYTES] = "";

	rebuilt_lock(&sketch);
	sketch_class(&sketch, "out");
	/* there is no "job" in it */
	ck_assert_int_eq(ask(&sketch, "out*0", &answer, error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error, "no class \"job\""));
	rebuilt_lock(&sketch);
	sketch.strings[sketch_string(&sketch, "out")] = "job";
	ck_assert_msg(ask(&sketch, "lock:M split 2", &answer, error) == 0, "%s", error);
	ck_assert_double_eq_tol(answer.estimate.most_ns / 1e6, 82, 0.01);
	ck_assert(answer.estimate.least_ns < answer.estimate.most_ns);
	ck_assert(answer.estimate.saved_ns >= answer.estimate.least_ns &&
		  answer.estimate.saved_ns <= answer.estimate.most_ns);
}
END_TEST

START_TEST(an_answer_that_depends_on_how_cpus_are_given_out_has_a_range)
{
	struct sketch sketch;
	struct asked_answer answer;
	char error[OPTIONS_ERROR_BYTES] = "";

	/* one CPU for two threads, of which the first one counts: in slices, or side by side */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 5);
	sketch_thread(&sketch, "job", 0, 9);
	sketch_end(&sketch);
	ck_assert_msg(ask_with(&sketch, 1, "job*0.3", &answer, error) == 0, "%s", error);
	ck_assert(answer.estimate.least_ns < answer.estimate.most_ns);
}
END_TEST

START_TEST(an_answer_that_rests_on_samples_has_a_range)
{
	struct sketch sketch;
	struct asked_answer answer;
	char error[OPTIONS_ERROR_BYTES] = "";

	sampling_error = 0.1;
	rebuilt_pool(&sketch);
	ck_assert_msg(ask(&sketch, _i ? "job*0.5,job*0.5" : "job*0.5", &answer, error) == 0, "%s",
		      error);
	double half_ns = answer.estimate.saved_ns * 0.1 * 1.96 * (_i ? 1.4142 : 1);
	ck_assert_double_eq_tol(answer.estimate.least_ns, answer.estimate.saved_ns - half_ns, 1000);
	ck_assert_double_eq_tol(answer.estimate.most_ns, answer.estimate.saved_ns + half_ns, 1000);
	sampling_error = 0;
}
END_TEST

SUITE()
{
	EACH(several_changes_are_made_at_once, rows);
	EACH(more_clients_are_asked_about, servers);
	TEST(a_split_lock_has_a_range);
	TEST(an_answer_that_depends_on_how_cpus_are_given_out_has_a_range);
	LOOP(an_answer_that_rests_on_samples_has_a_range, 0, 2);
}
