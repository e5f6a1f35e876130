/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if programs that made way for recorded threads hold them up in the replay, or if those that
 * did hold them up do not. */
#include "ask/pressure.h"

#include "replayed.h"
#include "replay/simulate.h"
#include "suite.h"

static struct others_window windows[] = { { 100 * SKETCH_MS, 1 }, { 200 * SKETCH_MS, 1 } };
static struct others_there there = { .windows = windows, .window_count = 2, .stranger_count = 1 };
static struct sketch sketch;
static struct script script;
static struct machine machine;

/* Two threads that run for 100 ms each on one CPU, which others want all the time. */
static void setup(void)
{
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 100, 100);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 1);
	machine.has_others = true;
	others_free(&script.others);
	script.others = (struct others){
		.there = &there, .kernel_count = 1, .stranger_count = 1, .pressure = 1
	};
}

static void teardown(void)
{
	script.others = (struct others){ 0 };
	script_free(&script);
	sketch_free(&sketch);
}

static double queued_ms(void)
{
	const struct replayer replayer = simulate_replayer(&script, &machine);

	return replayer_try(&replayer, &(const struct trial){ 0 }).queued_ns / 1e6;
}

START_TEST(threads_wait_in_queues_for_each_other_and_for_strangers)
{
	/* Each had a third of the CPU. */
	ck_assert_double_eq_tol(queued_ms(), 400, 15);
	machine.has_others = false;
	ck_assert_double_eq_tol(queued_ms(), 200, 10);
}
END_TEST

START_TEST(strangers_are_in_the_way_as_far_as_the_kernel_says)
{
	static const struct {
		int row;
		double queued_ms;
		double least; /* pressure */
		double most;
		double made_ms;
	} rows[] = {
		/* it has its third, however much more it wants */
		{ 1, 400, 0.3, 1.3, 400 },
		{ 2, 300, 0.1, 0.7, 300 },
		/* less than threads waited for each other */
		{ 3, 1, 0, 0.05, 205 },
		/* a stranger that weighs as much as two, and as four */
		{ 4, 600, 1.6, 2.5, 600 },
		{ 5, 1000, 3.2, 4.8, 1000 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		script.queued_ns = (uint64_t)(rows[i].queued_ms * 1e6);
		/* how long the run lasted is no matter */
		script.actual_ns = 100 * SKETCH_MS;
		pressure_find(&script, &machine);
		ck_assert_msg(script.others.pressure >= rows[i].least &&
				      script.others.pressure <= rows[i].most,
			      "row %d: %g", rows[i].row, script.others.pressure);
		ck_assert_msg(queued_ms() > 0.93 * rows[i].made_ms &&
				      queued_ms() < 1.07 * rows[i].made_ms,
			      "row %d: %g ms", rows[i].row, queued_ms());
	}
}
END_TEST

START_TEST(without_others_there_is_nothing_to_find)
{
	machine.has_others = false;
	script.queued_ns = 500 * SKETCH_MS;
	pressure_find(&script, &machine);
	ck_assert_double_eq(script.others.pressure, 1);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(threads_wait_in_queues_for_each_other_and_for_strangers);
	TEST(strangers_are_in_the_way_as_far_as_the_kernel_says);
	TEST(without_others_there_is_nothing_to_find);
}
