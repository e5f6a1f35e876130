/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if the recorded order of an event loop's events passes for the one that it would have.
 */
#include "event_loop.h"
#include "replayed.h"
#include "suite.h"

static const struct event_loop uneven = { .rounds = 10, .a_ms = 5, .b_ms = 4.03, .end_ms = 60 };

/* Each asker has its answers when it asks, also of a loop that looks up now and then. */
START_TEST(askers_have_nothing_to_do_with_each_other)
{
	struct event_loop of = uneven;
	static const struct {
		const char *class;
		double factor, expected_ms;
	} rows[] = { { NULL, 1, 110 },     { "work_a", 0.5, 85 }, { "work_a", 0, 60 },
		     { "work_b", 0, 110 }, { "work_t", 0, 50 },   { "work_a", 2, 160 } };
	struct sketch sketch;
	of.ticks = _i;
	event_loop_sketch(&sketch, &of);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct replay_answer answer =
			replayed(&sketch, rows[i].class, rows[i].factor);
		ck_assert_uint_eq(answer.forced_steps, 0);
		ck_assert_double_eq_tol(answer.makespan_ns / 1e6, rows[i].expected_ms, 0.02);
		ck_assert_double_eq(answer.order_ns, 0);
		ck_assert_uint_eq(answer.order_actor, NO_INDEX);
	}
	sketch_free(&sketch);
}
END_TEST

/* Nobody knows when the stranger comes: all before it comes first. */
START_TEST(waiting_for_one_while_another_has_data_is_noticed)
{
	struct event_loop met = uneven;
	struct sketch sketch;
	met.stranger_ms = 0.1;
	event_loop_sketch(&sketch, &met);
	ck_assert_double_eq(replayed(&sketch, NULL, 1).order_ns, 0);
	const struct replay_answer answer = replayed(&sketch, "work_a", 0);
	ck_assert_uint_eq(answer.forced_steps, 0);
	ck_assert_double_gt(answer.order_ns, 33e6);
	ck_assert_double_lt(answer.order_ns, 41e6);
	ck_assert_uint_eq(answer.order_actor, EVENT_LOOP_THREAD);
	ck_assert_double_eq(replayed(&sketch, "work_t", 0).order_ns, 0);
	sketch_free(&sketch);
}
END_TEST

enum { TIMED_ROUNDS = 10 };

static const double TIMER_MS = 10, WORKS_MS[] = { 2, 3.5 };

/* The loop reads a question, or answers one when its timer has run. */
static void timed_turn(struct sketch *sketch, uint32_t asker, double from_ms, double at_ms,
		       bool answers)
{
	static const char *const asked[] = { "tcp l>a", "tcp l>b" }, *const asks[] = { "tcp a>l",
										       "tcp b>l" };
	uint32_t poll = sketch_op(sketch, KIND_POLL, answers ? "epoll_pwait" : "epoll_wait",
				  EVENT_LOOP_THREAD, from_ms, at_ms);

	sketch->rec.extras[poll].amount = !answers;
	sketch->rec.extras[poll].timer = answers;
	sketch->rec.extras[poll].fd = -1;
	sketch_io(sketch, EVENT_LOOP_THREAD, answers ? "write" : "read", asked[asker], 1, at_ms,
		  at_ms);
	sketch_io(sketch, 2 + asker, answers ? "read" : "write", asks[asker], 1,
		  answers ? at_ms - TIMER_MS : at_ms, at_ms);
}

static void timed_sketch(struct sketch *sketch)
{
	static const char *const names[] = { "loop", "ask_a", "ask_b" };
	static const char *const works[] = { "work_a", "work_b" };
	double next_ms[] = { WORKS_MS[0], WORKS_MS[1] }, last_ms = 0;
	double ends_ms[] = { TIMED_ROUNDS * (TIMER_MS + WORKS_MS[1]),
			     TIMED_ROUNDS * (TIMER_MS + WORKS_MS[0]),
			     TIMED_ROUNDS * (TIMER_MS + WORKS_MS[1]) };
	int steps[] = { 0, 0 };

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, ends_ms[0]);
	for (uint32_t i = 0; i < 3; i++) {
		sketch_thread(sketch, names[i], 0, ends_ms[i]);
		sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[i + 1].op);
		sketch_wait(sketch, 0, REASON_JOIN, "", i ? ends_ms[0] : 0, ends_ms[0],
			    sketch->rec.threads[i + 1].op);
	}
	while (steps[0] < 2 * TIMED_ROUNDS || steps[1] < 2 * TIMED_ROUNDS) {
		uint32_t i = steps[0] == 2 * TIMED_ROUNDS ||
			     (steps[1] < 2 * TIMED_ROUNDS && next_ms[1] < next_ms[0]);
		bool answers = steps[i]++ % 2;

		if (!answers)
			sketch_sleep(sketch, 2 + i, works[i], next_ms[i] - WORKS_MS[i], next_ms[i]);
		timed_turn(sketch, i, last_ms, next_ms[i], answers);
		last_ms = next_ms[i];
		next_ms[i] += answers ? WORKS_MS[i] : TIMER_MS;
	}
	sketch_end(sketch);
}

/* Each answer comes so long after its question, whatever the loop does for the other one. */
START_TEST(timers_of_a_loop_run_side_by_side)
{
	static const struct {
		const char *class;
		double factor, expected_ms;
	} rows[] = { { NULL, 1, 135 },         { "epoll_pwait", 0.5, 85 },
		     { "epoll_pwait", 0, 35 }, { "epoll_pwait", 2, 235 },
		     { "work_a", 0, 135 },     { "work_b", 0, 120 } };
	struct sketch sketch;

	timed_sketch(&sketch);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_double_eq_tol(replayed_ms(&sketch, rows[i].class, rows[i].factor),
					rows[i].expected_ms, 0.02);
	sketch_free(&sketch);
}
END_TEST

/* It polls each descriptor for itself: it has an order of its own. */
START_TEST(a_thread_that_reads_in_turns_is_no_loop)
{
	struct sketch sketch;
	event_loop_sketch(&sketch, &uneven);
	for (size_t i = 0; i < sketch.rec.op_count; i++)
		if (sketch.rec.ops[i].kind == KIND_POLL) {
			sketch.rec.ops[i].name = sketch_string(&sketch, "poll");
			sketch.rec.extras[i].fd = 3;
		}
	const struct replay_answer answer = replayed(&sketch, "work_a", 0);
	ck_assert_double_eq(answer.order_ns, 0);
	ck_assert_double_gt(answer.makespan_ns / 1e6, 95);
	sketch_free(&sketch);
}
END_TEST

static void found(struct sketch *sketch, uint32_t thread, const char *pipe, double from_ms,
		  double at_ms)
{
	uint32_t poll = sketch_op(sketch, KIND_POLL, "epoll_wait", thread, from_ms, at_ms);

	sketch->rec.extras[poll].amount = 1;
	sketch->rec.extras[poll].fd = 3;
	sketch_io(sketch, 0, "write", pipe, 8, at_ms, at_ms);
	sketch_io(sketch, thread, "read", pipe, 8, at_ms, at_ms);
}

/* Two loops take jobs from one pipe. The first one does nothing else in the end. It may then have
 * a job that the other one had, behind which that one polls. */
START_TEST(a_job_leads_to_a_visit_of_another_loop)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 400);
	sketch_thread(&sketch, "taker", 0, 400);
	sketch_thread(&sketch, "taker", 0, 400);
	for (int i = 0; i < 12; i++) {
		double ms = 30 * i;

		if (i < 4) {
			found(&sketch, 1, i % 2 ? "pipe:[1]" : "pipe:[3]", ms, ms + 2);
			sketch_io(&sketch, 1, "work_a", "file a", 1, ms + 2, ms + 4);
		} else {
			sketch_io(&sketch, 0, "write", "pipe:[9]", 8, ms + 2, ms + 2);
			sketch_io(&sketch, 1, "read", "pipe:[9]", 8, ms, ms + 2);
		}
		found(&sketch, 2, i % 2 ? "pipe:[2]" : "pipe:[4]", ms, ms + 8);
		sketch_io(&sketch, 2, "work_b", "file b", 1, ms + 8, ms + 20);
		found(&sketch, 2, "pipe:[9]", ms + 21, ms + 22);
	}
	sketch_end(&sketch);
	for (int i = 0; i < 5; i++)
		ck_assert_uint_eq(replayed(&sketch, "work_b", i).forced_steps, 0);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_job_leads_to_a_visit_of_another_loop);
	LOOP(askers_have_nothing_to_do_with_each_other, 0, 2);
	TEST(timers_of_a_loop_run_side_by_side);
	TEST(waiting_for_one_while_another_has_data_is_noticed);
	TEST(a_thread_that_reads_in_turns_is_no_loop);
}
