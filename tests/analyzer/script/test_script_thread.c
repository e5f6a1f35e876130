/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread's steps are not what it did, in order. */
#include "script/script_valid.h"

#include "sketch.h"
#include "steps.h"
#include "suite.h"

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

START_TEST(a_crowded_run_is_its_cpu_time)
{
	struct sketch sketch;
	struct script script;
	static struct rec_sample samples[] = {
		{ .at_ns = 0, .cpu_ns = 500, .thread = 0 },
		{ .at_ns = 10 * SKETCH_MS, .cpu_ns = 500 + 4 * SKETCH_MS, .thread = 0 },
	};

	/* two threads, one CPU; the first had it for 4 of its 10 ms */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = { { STEP_RUN, 4 }, { STEP_MARK, 0 } };
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
	static const struct expected_step steps[] = { { STEP_RUN, 2 }, { STEP_MARK, 0 } };
	ck_assert(script.was_crowded);
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* By test: what main used and waited for. */
static struct rec_sample late_samples[] = {
	{ .at_ns = 0, .cpu_ns = 500, .queued_ns = 10, .thread = 0 },
	{ .at_ns = 4 * SKETCH_MS, .cpu_ns = 500, .queued_ns = 10, .thread = 0 },
	{ .at_ns = 10 * SKETCH_MS, .cpu_ns = 500, .queued_ns = 10, .thread = 0 },
};

/* A thread that was late for the CPUs because of threads that are replayed is made late by them
 * again. No other program is replayed. A sleep of 1 ms took 3. */
static const struct {
	double used_ms;
	double queued_ms;
	double overrun_ms;
} late_rows[] = {
	/* 0: the threads themselves had the CPU */ { 5, 0, 0.1 },
	/* 1: others did */ { 1, 5, 2 },
	/* 2: nobody did */ { 1, 0, 2 },
};

START_TEST(a_late_wake_up_stays_where_others_had_the_cpus)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch_sleep(&sketch, 0, "nap", 0, 3);
	sketch.rec.extras[sketch.rec.op_count - 1].amount = SKETCH_MS;
	sketch.rec.processes[0].cpus = 1;
	late_samples[2].cpu_ns = 500 + (uint64_t)(late_rows[_i].used_ms * 1e6);
	late_samples[2].queued_ns = 10 + (uint64_t)(late_rows[_i].queued_ms * 1e6);
	sketch.rec.samples = late_samples;
	sketch.rec.sample_count = 3;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *step = &script.steps[script.actors[0].first_step];
	ck_assert_uint_eq(step[0].type, STEP_DELAY);
	ck_assert_uint_eq(step[1].type, STEP_OVERRUN);
	ck_assert_double_eq_tol((double)step[1].ns / 1e6, late_rows[_i].overrun_ms, 1e-3);
	ck_assert_int_eq(script.was_crowded, _i < 2);
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

START_TEST(a_take_that_is_cut_is_no_job)
{
	struct sketch sketch;
	struct script script;

	sketch_idle(&sketch);
	for (int i = 0; i < 4; i++)
		sketch_link(&sketch, 0, LINK_POST, "S", 0.5, 0, NO_INDEX);
	for (uint32_t i = 0; i < 3; i++)
		sketch_wait(&sketch, 1 + i % 2, REASON_SEM, "S", 2 + i, 2.5 + i, NO_INDEX);
	sketch_sleep(&sketch, 0, "nap", 1, 5);
	sketch_wait(&sketch, 0, REASON_SEM, "S", 5, 5, NO_INDEX);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.jobs[0].count, 1);
	ck_assert(script_is_valid(&script));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_sleep_is_what_was_asked_for_and_an_overrun);
	TEST(a_crowded_run_is_its_cpu_time);
	TEST(a_run_among_others_is_its_cpu_time);
	EACH(a_late_wake_up_stays_where_others_had_the_cpus, late_rows);
	TEST(rounds_that_are_cut_are_no_tries);
	TEST(a_take_that_is_cut_is_no_job);
}
