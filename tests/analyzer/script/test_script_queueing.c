/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a device would be blamed for time in which a thread waited for a CPU. A replay
 * would have that time twice.
 */
#include "script/script.h"

#include "client_server.h"
#include "sketch.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

enum { CALLS = 3 };

/* Main makes calls, with 1 ms of its own behind each. */
static const struct {
	double calls_ms[CALLS];
	double queued_ms; /* main waited for CPUs, as the kernel says */
	double off_ms;    /* between the calls it was off the CPU */
	bool is_sleep;
	double left_ms[CALLS];
} rows[] = {
	/* 0 */ { { 2, 4, 6 }, 3, 0, false, { 1, 3, 5 } },
	/* 1: a CPU's coming back from idle is no queue */
	{ { 1, 4, 6 }, 9, 0, false, { 0.06, 0.06, 1.88 } },
	/* 2: nobody had to wait */ { { 2, 4, 6 }, 0, 0, false, { 2, 4, 6 } },
	/* 3: the waits were in its runs */ { { 2, 4, 6 }, 2, 2, false, { 2, 4, 6 } },
	/* 4 */ { { 2, 4, 6 }, 5, 2, false, { 1, 3, 5 } },
	/* 5: what was asked for */ { { 2, 4, 6 }, 3, 0, true, { 2, 4, 6 } },
};

static void sketch_main(struct sketch *sketch, int row)
{
	double at_ms = 0;

	for (int i = 0; i < CALLS; i++) {
		double to_ms = at_ms + rows[row].calls_ms[i];

		if (rows[row].is_sleep)
			sketch_sleep(sketch, 0, "nap", at_ms, to_ms);
		else
			sketch_io(sketch, 0, "fsync", "file f", 0, at_ms, to_ms);
		at_ms = to_ms + 1;
	}
}

START_TEST(calls_lose_what_was_a_wait_for_a_cpu)
{
	struct sketch sketch;
	struct script script;
	double end_ms = CALLS;
	int found = 0;

	for (int i = 0; i < CALLS; i++)
		end_ms += rows[_i].calls_ms[i];
	struct rec_sample samples[] = {
		{ .queued_ns = 10 },
		{ .at_ns = (uint64_t)(end_ms * 1e6),
		  .cpu_ns = (uint64_t)((CALLS - rows[_i].off_ms) * 1e6),
		  .queued_ns = 10 + (uint64_t)(rows[_i].queued_ms * 1e6) },
	};

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, end_ms);
	sketch_thread(&sketch, "other", 0, end_ms);
	sketch.rec.processes[0].cpus = 1;
	sketch_main(&sketch, _i);
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *step = &script.steps[script.actors[0].first_step];

	for (; step->type != STEP_END; step++) {
		if (step->type != STEP_DELAY)
			continue;
		ck_assert_int_lt(found, CALLS);
		ck_assert_double_eq_tol((double)step->ns / 1e6, rows[_i].left_ms[found], 1e-3);
		found++;
	}
	ck_assert_int_eq(found, CALLS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Four calls of work and a flush lose as much as each of three waits for a client. Before the first
 * question it has not thought. */
START_TEST(waits_for_clients_have_their_share)
{
	struct sketch sketch;
	struct script script;
	double read_ms = 0;
	struct rec_sample samples[] = {
		{ .queued_ns = 10 },
		{ .at_ns = 40000000, .cpu_ns = 40000000, .queued_ns = 10 + 6000000 },
	};

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 40);
	for (int i = 0; i < 4; i++) {
		served_request(&sketch, 0, "tcp 1.2.3.4:80>1.2.3.4:5001", read_ms, read_ms + 4, 1);
		read_ms += 5.5;
	}
	sketch_io(&sketch, 0, "fsync", "file f", 0, 30, 34);
	sketch_thread(&sketch, "other", 0, 40);
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	uint32_t class = sketch_class(&sketch, "fsync");
	const struct step *step = &script.steps[script.actors[0].first_step];

	ck_assert_uint_gt(script.clients.count, 0);
	while (step->type != STEP_DELAY || script.scopes.scopes[step->arg].leaf != class)
		step++;
	ck_assert_double_eq_tol((double)step->ns / 1e6, 4 - 6.0 / 8, 1e-3);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* A call of 4 ms and three wake-ups that take so long each. Returns how long the call is then. */
static uint64_t call_beside_wake_ups(double late_ms, uint64_t waited_ns, uint64_t *all_ns)
{
	struct sketch sketch;
	struct script script;
	struct rec_sample samples[] = {
		{ .queued_ns = 10 },
		{ .at_ns = 20000000, .cpu_ns = 10000000, .queued_ns = 10 + waited_ns },
	};

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	sketch_io(&sketch, 0, "fsync", "file f", 0, 0, 4);
	for (uint32_t t = 1; t <= 3; t++) {
		double ended_ms = 3 + 3 * t;

		sketch_thread(&sketch, "other", 0, ended_ms);
		sketch_wait(&sketch, 0, REASON_JOIN, "", ended_ms - 1, ended_ms + late_ms,
			    sketch.rec.threads[t].op);
	}
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	uint32_t class = sketch_class(&sketch, "fsync");
	const struct step *step = &script.steps[script.actors[0].first_step];

	while (step->type != STEP_DELAY || script.scopes.scopes[step->arg].leaf != class)
		step++;
	uint64_t left_ns = step->ns;

	*all_ns = script.queued_ns;
	script_free(&script);
	sketch_free(&sketch);
	return left_ns;
}

/* Three wake-ups are to lose one nanosecond of two. Each loses a whole one, together more than the
 * thread had waited. The call loses the other one, and no more. */
START_TEST(calls_lose_nothing_for_wake_ups_that_lost_too_much)
{
	uint64_t all_ns;

	ck_assert_uint_eq(call_beside_wake_ups(1, 2, &all_ns), 4000000 - 1);
	ck_assert_uint_eq(all_ns, 2);
}
END_TEST

/* All that three wake-ups waited for a CPU is no more than one may take to come back from idle. So
 * the call had no queue either, though the kernel counts that, too. */
START_TEST(a_call_is_no_queue_where_wake_ups_had_none)
{
	uint64_t all_ns;

	ck_assert_uint_eq(call_beside_wake_ups(0.05, 200000, &all_ns), 4000000);
}
END_TEST

/* Every other job is taken 2 ms late, as the taker waits for a CPU. A replay by tokens has it take
 * each as soon as it usually does. */
START_TEST(a_usual_latency_leaves_out_what_was_longer)
{
	enum { JOBS = 9 };
	struct sketch sketch;
	struct script script;
	struct rec_sample samples[] = {
		{ .queued_ns = 10 },
		{ .at_ns = 100000000, .cpu_ns = 46100000, .queued_ns = 10 + 8000000 },
	};

	sketch_begin(&sketch);
	sketch_thread(&sketch, "taker", 0, 100);
	sketch_thread(&sketch, "putter", 0, 100);
	for (int i = 0; i < JOBS; i++) {
		double from_ms = i * 10, put_ms = from_ms + 5, to_ms = put_ms + 0.2 + i % 2 * 2;

		sketch_hold(&sketch, 0, "M", 2, from_ms, from_ms + 0.1);
		sketch_hold(&sketch, 1, "M", 1, put_ms, put_ms + 0.1);
		sketch_link(&sketch, 1, LINK_WAKE, "C", put_ms + 0.05, 1, NO_INDEX);
		sketch_wait(&sketch, 0, REASON_COND, "C", from_ms + 0.1, to_ms, NO_INDEX);
		sketch_hold(&sketch, 0, "M", 3, to_ms, to_ms + 0.1);
	}
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_int_eq(script.monitors.conditions[0].model, PUT_BY_SIGNAL);
	ck_assert_uint_le(script.queued_ns, 8000000);
	ck_assert_uint_ge(script.queued_ns, 6000000);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Writes take 10.5 us if the reader waits, else 0.5: what is moved from a run to its step of waking
 * was no wait for a CPU. */
START_TEST(the_cost_of_a_wake_was_in_no_queue)
{
	enum { WRITES = 40 };
	struct sketch sketch;
	struct script script;
	uint64_t waking_ns = 0;
	struct rec_sample samples[] = {
		{ .queued_ns = 10 },
		{ .at_ns = 410000000, .cpu_ns = 410000000, .queued_ns = 10 },
	};

	sketch_begin(&sketch);
	sketch_thread(&sketch, "writer", 0, 410);
	sketch_thread(&sketch, "reader", 0, 410);
	for (int i = 0; i < WRITES; i++) {
		double at_ms = 5 + i * 10;
		bool waits = i % 2;

		sketch_io(&sketch, 0, "write", "pipe:[7]", 10, at_ms,
			  at_ms + (waits ? 0.0105 : 0.0005));
		sketch_io(&sketch, 1, "read", "pipe:[7]", 10, at_ms + (waits ? -2 : 2),
			  at_ms + (waits ? 0.01 : 2.0005));
	}
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	for (size_t i = 0; i < script.step_count; i++)
		waking_ns += script.steps[i].type == STEP_WAKING ? script.steps[i].ns : 0;
	ck_assert(script.was_crowded);
	ck_assert_uint_gt(waking_ns, 0);
	ck_assert_uint_eq(script.queued_ns, 0);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Main starts a child at 1 ms, which does its first thing at 11 ms, having used a CPU for 4 ms. It
 * runs for 2 ms, and calls for 4. Both programs together use a CPU for 11 of 41 ms. */
static const struct {
	double queued_ms; /* the child waited for CPUs; 0 = the kernel was not asked */
	double off_ms;    /* in its run it was off the CPU */
	double late_ms;   /* the rest of its start */
	double call_ms;   /* of its call */
} starts[] = {
	/* 0 */ { 4, 0, 2, 4 },
	/* 1: more than its start had to wait */ { 8, 0, 0.06, 4 - 2.06 },
	/* 2: as much as any thread did at that time */ { 0, 0, 6 - 10 * 11. / 41, 4 },
	/* 3: it had waited in its run, and no more */ { 2, 2, 6, 4 },
};

START_TEST(a_start_loses_what_was_a_wait_for_a_cpu)
{
	struct rec_sample samples[] = {
		{ .cpu_ns = 0 },
		{ .at_ns = 41000000, .cpu_ns = 5000000 },
		{ .thread = 1, .at_ns = 11000000, .cpu_ns = 4000000 },
		{ .thread = 1,
		  .at_ns = 17000000,
		  .cpu_ns = (uint64_t)((6 - starts[_i].off_ms) * 1e6),
		  .queued_ns = (uint64_t)(starts[_i].queued_ms * 1e6) },
	};
	struct sketch sketch;
	struct script script;
	double late_ms = -1, call_ms = -1;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 41);
	sketch_thread(&sketch, "child", 11, 17);
	sketch_link(&sketch, 0, LINK_SPAWN, "", 1, 0, sketch.rec.threads[1].op);
	sketch_io(&sketch, 1, "fsync", "file f", 0, 13, 17);
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 4;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	for (size_t i = 0; i < script.step_count; i++) {
		const struct step *step = &script.steps[i];

		late_ms = step->type == STEP_SPAWN ? (double)step->ns / 1e6 : late_ms;
		call_ms = step->type == STEP_DELAY ? (double)step->ns / 1e6 : call_ms;
	}
	ck_assert_double_eq_tol(late_ms, starts[_i].late_ms, 1e-3);
	ck_assert_double_eq_tol(call_ms, starts[_i].call_ms, 1e-3);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_start_loses_what_was_a_wait_for_a_cpu, starts);
	TEST(the_cost_of_a_wake_was_in_no_queue);
	EACH(calls_lose_what_was_a_wait_for_a_cpu, rows);
	TEST(waits_for_clients_have_their_share);
	TEST(calls_lose_nothing_for_wake_ups_that_lost_too_much);
	TEST(a_call_is_no_queue_where_wake_ups_had_none);
	TEST(a_usual_latency_leaves_out_what_was_longer);
}
