/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread's steps are not what it did, in order. */
#include "script/script_valid.h"

#include "sketch.h"
#include "steps.h"
#include "suite.h"

#include <math.h>

static const struct script_options as_recorded = { 0 };

START_TEST(a_sleep_is_what_was_asked_for_and_an_overrun)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_sleep(&sketch, 0, "nap", 1, 3);
	sketch.rec.extras[sketch.rec.op_count - 1].amount = SKETCH_MS;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = {
		{ STEP_RUN, 1 },
		{ STEP_DELAY, 1 },
		{ STEP_OVERRUN, 1 },
		{ STEP_RUN, 7 },
	};
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* A timer counts from when it was set, whatever is done meanwhile; then on from its last time. */
START_TEST(a_timer_is_read_when_its_time_comes)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	sketch_io(&sketch, 0, "timerfd_settime", "timerfd", 0, 1, 1);
	sketch_io(&sketch, 0, "read", "timerfd", 8, 4, 6);
	sketch_io(&sketch, 0, "read", "timerfd", 8, 10, 11);
	sketch_io(&sketch, 0, "read", "timerfd", 8, 16.01, 16.02); /* that was its time already */
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = {
		{ STEP_RUN, 1 }, { STEP_SCHEDULE, 0 }, { STEP_RUN, 3 },    { STEP_UNTIL, 5 },
		{ STEP_RUN, 4 }, { STEP_UNTIL, 5 },    { STEP_RUN, 5.01 },
	};
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_crowded_run_is_its_cpu_time)
{
	struct sketch sketch;
	struct script script;
	static struct rec_sample samples[] = {
		{ .at_ns = 0, .cpu_ns = 500, .thread = 0 },
		{ .at_ns = 10 * SKETCH_MS, .cpu_ns = 500 + 4 * SKETCH_MS, .thread = 0 },
		{ .at_ns = 0, .cpu_ns = 500, .thread = 1 },
		{ .at_ns = 10 * SKETCH_MS, .cpu_ns = 500 + 6 * SKETCH_MS, .thread = 1 },
	};

	/* two threads, one CPU; the first had it for 4 of its 10 ms, and its start took none */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 4;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = { { STEP_RUN, 0 },
						      { STEP_RUN, 4 },
						      { STEP_MARK, 0 } };
	ck_assert(script.was_crowded);
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* The CPUs were used by other programs: little was used here, but long waited for. */
START_TEST(a_run_among_others_is_its_cpu_time)
{
	struct sketch sketch;
	struct script script;
	static struct rec_sample samples[] = {
		{ .at_ns = 0, .cpu_ns = 500, .queued_ns = 10, .thread = 0 },
		{ .at_ns = 10 * SKETCH_MS,
		  .cpu_ns = 500 + 2 * SKETCH_MS,
		  .queued_ns = 10 + 8 * SKETCH_MS,
		  .thread = 0 },
	};

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = { { STEP_RUN, 0 },
						      { STEP_RUN, 2 },
						      { STEP_MARK, 0 } };
	ck_assert(script.was_crowded);
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* A thread was off the CPUs for 8 of 10 ms, which were idle for 8. It waited for one for as long as
 * the kernel says, and maybe for 2 ms after its last word. */
static const struct {
	uint64_t first_ns; /* by the first sample; 0 = it says nothing */
	double queued_ms;  /* later */
	double run_ms;
} queued_rows[] = {
	/* 0 */ { 10, 5, 3 },
	/* 1: the thread began in the recording */ { 0, 5, 3 },
	/* 2: it says nothing */ { 0, 0, 8 },
};

START_TEST(a_run_loses_no_more_than_the_kernel_says)
{
	uint64_t first_ns = queued_rows[_i].first_ns;
	struct rec_sample samples[] = {
		{ .cpu_ns = 500, .queued_ns = first_ns },
		{ .at_ns = 10 * SKETCH_MS,
		  .cpu_ns = 500 + 2 * SKETCH_MS,
		  .queued_ns = first_ns + (uint64_t)(queued_rows[_i].queued_ms * 1e6) },
	};
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *step = &script.steps[script.actors[0].first_step] + 1;

	ck_assert_uint_eq(step->type, STEP_RUN);
	ck_assert_double_eq_tol((double)step->ns / 1e6, queued_rows[_i].run_ms, 1e-2);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Of eight sleeps of 1 ms four take 1.1 and four take 3 ms: 7.92 ms of that may be queues. */
static const struct {
	double queued_ms; /* as the kernel says */
	double overrun_ms;
	bool has_two_cpus;
} late_rows[] = {
	/* 0: the longest ones lose it */ { 4, 1, false },
	/* 1: short ones lose it, too */ { 7.76, 0.08, false },
	/* 2: more than there is: no queue is as short as what is left */ { 9, 0.06, false },
	/* 3: long ones are the sleep's own */ { 0, 2, false },
	/* 4: nobody had to wait */ { 4, 2, true },
};

START_TEST(a_late_wake_up_was_in_a_queue_as_long_as_the_kernel_says)
{
	struct sketch sketch;
	struct script script;
	struct rec_sample samples[] = {
		{ .queued_ns = 10 },
		{ .at_ns = 20 * SKETCH_MS,
		  .cpu_ns = 20 * SKETCH_MS,
		  .queued_ns = 10 + (uint64_t)(late_rows[_i].queued_ms * 1e6) },
	};
	double most_ms = 0;
	bool is_cut = late_rows[_i].overrun_ms < 2;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	sketch_thread(&sketch, "other", 0, 20);
	for (int i = 0; i < 8; i++) {
		double from_ms = (i / 2) * 4.5 + (i % 2) * 1.2;

		sketch_sleep(&sketch, 0, "nap", from_ms, from_ms + (i % 2 ? 3 : 1.1));
		sketch.rec.extras[sketch.rec.op_count - 1].amount = SKETCH_MS;
	}
	sketch.rec.processes[0].cpus = late_rows[_i].has_two_cpus ? 2 : 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	for (size_t i = 0; i < script.step_count; i++)
		if (script.steps[i].type == STEP_OVERRUN)
			most_ms = fmax(most_ms, (double)script.steps[i].ns / 1e6);
	ck_assert_double_eq_tol(most_ms, late_rows[_i].overrun_ms, 1e-3);
	ck_assert_double_eq_tol((double)script.queued_ns / 1e6,
				is_cut ? fmin(late_rows[_i].queued_ms, 7.92) : 0, 1e-3);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* A thread that is still there at the end of the recording; what it did last is left out. */
static void sketch_idle(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "idle", 0, 100);
	sketch_thread(sketch, "other", 0, 100);
	sketch_thread(sketch, "third", 0, 100);
	sketch->rec.extras[sketch->rec.processes[0].op].open = true;
	for (uint32_t t = 0; t < 3; t++)
		sketch->rec.extras[sketch->rec.threads[t].op].open = true;
	sketch_io(sketch, 0, "read", "", 10, 0, 1);
}

START_TEST(rounds_that_are_cut_are_no_tries)
{
	struct sketch sketch;
	struct script script;

	sketch_idle(&sketch);
	sketch_hold(&sketch, 1, "M", 1, 0, 4);
	uint32_t wait = sketch_wait(&sketch, 0, REASON_MUTEX, "M", 1, 1, NO_INDEX);
	sketch.rec.waits[wait].timed_out = true;
	sketch.rec.waits[wait].name = sketch_string(&sketch, "pthread_mutex_trylock");
	sketch_sleep(&sketch, 0, "nap", 1, 5);
	sketch.rec.extras[sketch_hold(&sketch, 0, "M", 2, 5, 100)].open = true;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = {
		{ STEP_DELAY, 1 }, { STEP_FIXED, 0 }, { STEP_MARK, 0 }, { STEP_END, 0 }
	};
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(who_came_to_a_barrier_has_not_been_idle)
{
	static const struct expected_step steps[] = {
		{ STEP_DELAY, 1 },   { STEP_DELAY, 4 }, { STEP_OVERRUN, 0 },
		{ STEP_BARRIER, 0 }, { STEP_MARK, 0 },  { STEP_END, 0 },
	};
	struct sketch sketch;
	struct script script;

	sketch_idle(&sketch);
	sketch_sleep(&sketch, 0, "nap", 1, 5);
	sketch_wait(&sketch, 0, REASON_BARRIER, "B", 5, 5, NO_INDEX);
	sketch_wait(&sketch, 1, REASON_BARRIER, "B", 2, 6, NO_INDEX);
	sketch_link(&sketch, 1, LINK_WAKE, "B", 6, 1, NO_INDEX);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_take_that_is_cut_is_no_job)
{
	struct sketch sketch;
	struct script script;

	sketch_idle(&sketch);
	sketch_thread(&sketch, "poster", 0, 100);
	for (int i = 0; i < 4; i++)
		sketch_link(&sketch, 3, LINK_POST, "S", 2.4 + i, 0, NO_INDEX);
	for (uint32_t i = 0; i < 3; i++)
		sketch_wait(&sketch, 1 + i % 2, REASON_SEM, "S", 2 + i, 2 + i, NO_INDEX);
	sketch_sleep(&sketch, 0, "nap", 1, 5);
	sketch_wait(&sketch, 0, REASON_SEM, "S", 5, 5, NO_INDEX);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.jobs[0].count, 3); /* those of the others */
	ck_assert(script_is_valid(&script));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_sleep_is_what_was_asked_for_and_an_overrun);
	TEST(a_timer_is_read_when_its_time_comes);
	TEST(a_crowded_run_is_its_cpu_time);
	TEST(a_run_among_others_is_its_cpu_time);
	EACH(a_run_loses_no_more_than_the_kernel_says, queued_rows);
	EACH(a_late_wake_up_was_in_a_queue_as_long_as_the_kernel_says, late_rows);
	TEST(rounds_that_are_cut_are_no_tries);
	TEST(who_came_to_a_barrier_has_not_been_idle);
	TEST(a_take_that_is_cut_is_no_job);
}
