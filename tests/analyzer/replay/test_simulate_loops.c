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
	TEST(waiting_for_one_while_another_has_data_is_noticed);
	TEST(a_thread_that_reads_in_turns_is_no_loop);
}
