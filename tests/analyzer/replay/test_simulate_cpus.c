/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if the replay forgets that threads share CPUs, or that waking another CPU takes longer. */
#include "replay/simulate.h"

#include "replayed.h"
#include "suite.h"

#include <math.h>

/* Two threads that only run for so long. */
static void running(struct sketch *sketch, struct script *script, double one_ms, double two_ms)
{
	sketch_begin(sketch);
	sketch_join_two(sketch, "one", "two", one_ms, two_ms);
	sketch_end(sketch);
	script_build(script, &sketch->rec, &sketch->classes, &(const struct script_options){ 0 });
}

START_TEST(cpus_are_shared)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;

	running(&sketch, &script, 10, 20);
	machine_begin(&machine, &script, 1);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	const struct replay_answer answer = replayer_try(&replayer, &(const struct trial){ 0 });
	ck_assert_double_eq_tol(answer.makespan_ns, 30e6, 10);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(to_sleep_and_wake_takes_a_cpu)
{
	static const struct {
		double cpus;
		bool shares_cpus;
		double makespan_ms;
	} rows[] = {
		/* 1 */ { 1, false, 32 }, /* main sleeps twice, until either has ended */
		/* 2 */ { 1, true, 32 },
		/* 3 */ { 2, false, 21 },
		/* 4 */ { INFINITY, false, 20 }, /* it is in the latency */
	};
	struct sketch sketch;
	struct script script;
	struct machine machine;

	running(&sketch, &script, 10, 20);
	script.sleep_run_ns = 1000000;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct trial trial = { .shares_cpus = rows[i].shares_cpus };

		machine_begin(&machine, &script, rows[i].cpus);
		const struct replayer replayer = simulate_replayer(&script, &machine);
		const struct replay_answer answer = replayer_try(&replayer, &trial);
		ck_assert_msg(answer.makespan_ns > rows[i].makespan_ms * 1e6 - 10 &&
				      answer.makespan_ns < rows[i].makespan_ms * 1e6 + 10,
			      "row %zu: %g ms", i + 1, answer.makespan_ns / 1e6);
	}
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_nice_thread_gets_less)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;

	/* two threads that only run, 100 ms each, on one CPU; nice's share is 1 of 9 */
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 100, 100);
	sketch.rec.threads[2].weight = 128;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 1);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	uint64_t finish_ns[3];
	const struct trial trial = { .finish_ns = finish_ns };
	const struct replay_answer answer = replayer_try(&replayer, &trial);
	ck_assert_double_eq_tol(answer.makespan_ns, 200e6, 1e5);
	ck_assert_double_eq_tol((double)finish_ns[1], 100e6 * 9 / 8, 8e6);
	ck_assert_double_eq_tol((double)finish_ns[2], 200e6, 1e5);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* They did nothing for a hundred years, and that is over at once. */
START_TEST(years_without_others_take_no_time)
{
	struct others_window windows[] = { { 10 * SKETCH_MS, 0.5 },
					   { 3153600000000 * SKETCH_MS, 0 } };
	struct sketch sketch;
	struct script script;
	struct machine machine;

	running(&sketch, &script, 100, 100);
	machine_begin(&machine, &script, 1);
	machine.has_others = true;
	struct others_there there = { .windows = windows, .window_count = 2, .stranger_count = 1 };
	others_free(&script.others);
	script.others = (struct others){
		.there = &there, .kernel_count = 1, .stranger_count = 1, .pressure = 1
	};
	const struct replayer replayer = simulate_replayer(&script, &machine);
	const struct replay_answer answer = replayer_try(&replayer, &(const struct trial){ 0 });
	ck_assert_double_eq_tol(answer.makespan_ns, 205e6, 1e6);
	script.others = (struct others){ 0 };
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* In each window of 100 ms others use so much; two threads run for 100 ms each. */
START_TEST(others_use_what_they_did)
{
	static const struct {
		int row;
		double cpus;
		double others;
		double pressure;
		uint32_t strangers;
		bool shares_cpus;
		double makespan_ms;
	} rows[] = {
		{ 1, 2, 0, 1, 0, false, 100 },
		/* one stranger and two threads on one CPU: it gets what it wants */
		{ 2, 1, 0.2, 1, 1, false, 250 },
		{ 3, 1, 0.2, 1, 1, true, 250 },
		/* it wants more than its share, and gets that */
		{ 4, 1, 1, 1, 1, false, 300 },
		{ 5, 1, 1, 1, 1, true, 300 },
		/* it weighs as much as both: it gets half */
		{ 6, 1, 1, 2, 1, false, 400 },
		/* beside a stranger who has a CPU for himself two threads share the other one */
		{ 7, 2, 1, 2, 1, false, 200 },
		/* there is one for each */
		{ 8, 3, 1, 1, 1, false, 100 },
		{ 9, 4, 2, 1, 2, false, 100 },
		/* both windows by turns: the use of the first one is half as long as that of all */
		{ 10, 1, -0.4, 1, 1, false, 250 },
		/* it is in the way for half of what it wants */
		{ 11, 1, 0.4, 0.5, 1, false, 250 },
		{ 12, 1, 0.4, 0.5, 1, true, 250 },
	};
	struct sketch sketch;
	struct script script;
	struct machine machine;

	running(&sketch, &script, 100, 100);
	others_free(&script.others);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct trial trial = { .shares_cpus = rows[i].shares_cpus };
		double second = rows[i].others < 0 ? 0 : rows[i].others;
		struct others_window windows[] = { { 100 * SKETCH_MS, fabs(rows[i].others) },
						   { 200 * SKETCH_MS, second } };

		machine_begin(&machine, &script, rows[i].cpus);
		machine.has_others = true;
		struct others_there there = { .windows = windows,
					      .window_count = 2,
					      .stranger_count = rows[i].strangers };
		script.others = (struct others){ .there = &there,
						 .kernel_count = 1,
						 .stranger_count = rows[i].strangers,
						 .pressure = rows[i].pressure };
		const struct replayer replayer = simulate_replayer(&script, &machine);
		const struct replay_answer answer = replayer_try(&replayer, &trial);
		ck_assert_msg(fabs(answer.makespan_ns - rows[i].makespan_ms * 1e6) <
				      0.06 * rows[i].makespan_ms * 1e6,
			      "row %d: %g ms", rows[i].row, answer.makespan_ns / 1e6);
	}
	script.others = (struct others){ 0 };
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Two threads run for 100 ms each, on kernels of 1 CPU; main waits for them. On one of the kernels
 * there is a stranger as well. */
START_TEST(each_kernel_has_cpus_of_its_own)
{
	static const struct {
		int row;
		uint32_t kernels[2]; /* of the threads */
		double asked_cpus;
		uint32_t strangers[2]; /* by kernel */
		double finish_ms[2];
	} rows[] = {
		{ 1, { 0, 0 }, 0, { 0, 0 }, { 196, 200 } }, /* they take turns at each tick */
		{ 2, { 0, 1 }, 0, { 0, 0 }, { 100, 100 } },
		{ 3, { 1, 1 }, 0, { 0, 0 }, { 196, 200 } },
		{ 4, { 0, 1 }, 1, { 0, 0 }, { 100, 100 } },
		{ 5, { 0, 0 }, 2, { 0, 0 }, { 100, 100 } }, /* of each kernel */
		{ 6, { 0, 1 }, 0, { 1, 0 }, { 200, 100 } },
		{ 7, { 0, 1 }, 0, { 0, 1 }, { 100, 200 } },
		{ 8, { 0, 1 }, 0, { 1, 1 }, { 200, 200 } },
	};

	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
		bool shares_cpus = i % 2;
		const uint32_t *strangers = rows[i / 2].strangers;
		struct others_window window = { 1000 * SKETCH_MS, 1 };
		struct others_there there[2];
		double cpus[2] = { 1, 1 };
		uint64_t finish_ns[3];
		const struct trial trial = { .finish_ns = finish_ns, .shares_cpus = shares_cpus };
		struct sketch sketch;
		struct script script;
		struct machine machine;

		running(&sketch, &script, 100, 100);
		others_free(&script.others);
		free(script.kernel_cpus);
		script.kernel_cpus = cpus;
		script.kernel_count = script.recorded_cpus = 2;
		for (size_t k = 0; k < 2; k++) {
			script.actors[k + 1].kernel = rows[i / 2].kernels[k];
			there[k] = (struct others_there){ .windows = &window,
							  .window_count = 1,
							  .stranger_count = strangers[k] };
		}
		script.others = (struct others){ .there = there,
						 .kernel_count = 2,
						 .stranger_count = strangers[0] + strangers[1],
						 .pressure = 1 };
		machine_begin(&machine, &script, rows[i / 2].asked_cpus);
		if (!(rows[i / 2].asked_cpus > 0))
			machine.cpus = 2; /* as if there were samples */
		const struct replayer replayer = simulate_replayer(&script, &machine);
		(void)replayer_try(&replayer, &trial);
		for (size_t k = 0; k < 2; k++)
			ck_assert_msg(
				fabs((double)finish_ns[k + 1] / 1e6 - rows[i / 2].finish_ms[k]) < 5,
				"row %d, sharing %d: thread %zu ends at %g ms", rows[i / 2].row,
				shares_cpus, k, (double)finish_ns[k + 1] / 1e6);
		script.others = (struct others){ 0 };
		script.kernel_cpus = NULL;
		script_free(&script);
		sketch_free(&sketch);
	}
}
END_TEST

static double finish_in_ms(struct sketch *sketch, uint32_t thread, const struct machine *machine,
			   enum crossing crossing)
{
	uint64_t finish_ns[SKETCH_MAX];
	const struct trial trial = { .finish_ns = finish_ns, .crossing = crossing };
	struct script script;

	script_build(&script, &sketch->rec, &sketch->classes, &(const struct script_options){ 0 });
	const struct replayer replayer = simulate_replayer(&script, machine);
	struct replay_answer answer = replayer_try(&replayer, &trial);
	script_free(&script);
	ck_assert_uint_eq(answer.forced_steps, 0);
	return (double)finish_ns[thread] / 1e6;
}

static double finish_ms(struct sketch *sketch, uint32_t thread, bool crosses)
{
	const struct machine machine = { .tick_ns = 4000000, .cpus = INFINITY, .crosses = crosses };

	return finish_in_ms(sketch, thread, &machine, CROSSING_USUAL);
}

START_TEST(a_lock_goes_to_another_cpu_more_slowly)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "first", 0, 10);
	sketch_thread(&sketch, "second", 0, 20);
	sketch_hold(&sketch, 0, "M", 1, 0, 10);
	sketch_wait(&sketch, 1, REASON_MUTEX, "M", 0, 10, NO_INDEX);
	sketch_hold(&sketch, 1, "M", 2, 10, 20);
	sketch_end(&sketch);
	ck_assert_double_eq_tol(finish_ms(&sketch, 1, false), 20, 1e-6);
	ck_assert_double_eq_tol(finish_ms(&sketch, 1, true), 20.025, 1e-6);
	sketch_free(&sketch);
}
END_TEST

START_TEST(to_signal_to_another_cpu_takes_longer)
{
	enum { ITEMS = 3, WAITED_FOR = 2 };
	struct sketch sketch;

	/* every 10 ms an item; the taker comes for it 2 ms before or after, and works 0.1 ms */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "putter", 0, ITEMS * 10 + 10);
	sketch_thread(&sketch, "taker", 0, ITEMS * 10 + 10);
	for (int i = 0; i < ITEMS; i++) {
		bool waits = i % 2 == 0;
		double put_ms = 5 + i * 10, from_ms = put_ms + (waits ? -2 : 2);
		double end_ms = put_ms + 0.1;

		sketch_hold(&sketch, 0, "M", 1, put_ms, end_ms);
		sketch_link(&sketch, 0, LINK_WAKE, "C", put_ms + 0.05, waits, NO_INDEX);
		sketch_hold(&sketch, 1, "M", 2, from_ms, from_ms + 0.1);
		if (!waits)
			continue;
		sketch_wait(&sketch, 1, REASON_COND, "C", from_ms + 0.1, end_ms + 0.1, NO_INDEX);
		sketch_hold(&sketch, 1, "M", 3, end_ms + 0.1, end_ms + 0.2);
	}
	sketch_end(&sketch);
	ck_assert_double_eq_tol(finish_ms(&sketch, 0, false), ITEMS * 10 + 10, 1e-6);
	ck_assert_double_eq_tol(finish_ms(&sketch, 0, true), ITEMS * 10 + 10 + WAITED_FOR * 0.005,
				1e-6);
	sketch_free(&sketch);
}
END_TEST

/* A thread is woken 3 times, works on, and sleeps again; its waker waits for nobody. */
START_TEST(to_wake_on_another_cpu_may_cost_more_or_less)
{
	enum { ROUNDS = 3 };
	const struct machine more = {
		.tick_ns = 4000000, .cpus = 2, .recorded_cpus = 1, .has_more = true
	};
	const struct machine fewer = {
		.tick_ns = 4000000, .cpus = INFINITY, .recorded_cpus = 2, .has_fewer = true
	};
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_join_two(&sketch, "waker", "woken", ROUNDS * 10 + 10, ROUNDS * 10 + 4);
	for (int i = 0; i < ROUNDS; i++) {
		double at_ms = 10 + i * 10;

		sketch_io(&sketch, 1, "write", "tcp a>b", 10, at_ms, at_ms + 0.05);
		sketch_io(&sketch, 2, "read", "tcp b>a", 10, at_ms - 6, at_ms);
	}
	sketch_end(&sketch);
	ck_assert_double_eq_tol(finish_in_ms(&sketch, 1, &more, CROSSING_FREE), 40, 1e-3);
	ck_assert_double_eq_tol(finish_in_ms(&sketch, 1, &more, CROSSING_DEAR), 40 + ROUNDS * 0.025,
				1e-3);
	ck_assert_double_eq_tol(finish_in_ms(&sketch, 1, &fewer, CROSSING_FREE),
				40 - ROUNDS * 0.025, 1e-3);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(cpus_are_shared);
	TEST(to_sleep_and_wake_takes_a_cpu);
	TEST(a_nice_thread_gets_less);
	TEST(others_use_what_they_did);
	TEST(each_kernel_has_cpus_of_its_own);
	TEST(years_without_others_take_no_time);
	TEST(a_lock_goes_to_another_cpu_more_slowly);
	TEST(to_signal_to_another_cpu_takes_longer);
	TEST(to_wake_on_another_cpu_may_cost_more_or_less);
}
