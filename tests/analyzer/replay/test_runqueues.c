/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if actors do not get CPUs in turn, or wait for one although another is idle. */
#include "replay/runqueues.h"

#include "recording/recording.h"
#include "suite.h"

enum { MS = 1000000 };

/* The next actor that has run what it had to; it goes to sleep. Ticks go by unseen. */
static uint32_t next_done(struct runqueues *queues, uint64_t *at_ns)
{
	for (;;) {
		*at_ns = runqueues_next_ns(queues);
		if (*at_ns == UINT64_MAX)
			return NO_INDEX;
		uint32_t actor = runqueues_happen(queues);
		if (actor == NO_INDEX)
			continue;
		ck_assert(runqueues_is_on(queues, actor));
		runqueues_off(queues, *at_ns, actor);
		ck_assert(!runqueues_is_on(queues, actor));
		return actor;
	}
}

static void expect_done(struct runqueues *queues, int row, uint32_t actor, double at_ms)
{
	uint64_t at_ns;
	uint32_t got = next_done(queues, &at_ns);

	ck_assert_msg(got == actor && (double)at_ns > at_ms * MS - 10 &&
			      (double)at_ns < at_ms * MS + 10,
		      "row %d: actor %u at %.3f ms, not %u at %.3f", row, got, (double)at_ns / MS,
		      actor, at_ms);
}

START_TEST(two_on_one_cpu_take_turns)
{
	static const struct {
		uint64_t tick_ns;
		double first_ms;
	} rows[] = { { 4000000, 17.5 }, { 1000000, 18.5 }, { 10000000, 9.5 } };

	/* a slice of 0.7 ms: they change places at each tick */
	for (int i = 0; i < 3; i++) {
		struct runqueues queues;

		runqueues_make(&queues, 2, 1);
		runqueues_reset(&queues, 1, rows[i].tick_ns);
		ck_assert_uint_eq(runqueues_next_ns(&queues), UINT64_MAX);
		runqueues_enter(&queues, 0, 0, 9.5 * MS);
		runqueues_enter(&queues, 0, 1, 9.5 * MS);
		expect_done(&queues, 2 * i + 1, 0, rows[i].first_ms);
		expect_done(&queues, 2 * i + 2, 1, 19);
		runqueues_free(&queues);
	}
}
END_TEST

START_TEST(a_tick_at_the_end_of_a_run_counts)
{
	struct runqueues queues;
	uint64_t at_ns = 0;
	uint32_t done = NO_INDEX;

	/* the first one runs 1 ms after the other, and never sleeps: each tick comes at an end */
	runqueues_make(&queues, 2, 1);
	runqueues_reset(&queues, 1, assume.tick);
	runqueues_enter(&queues, 0, 0, MS);
	runqueues_enter(&queues, 0, 1, MS);
	while (done != 1 && at_ns < 100 * MS) {
		at_ns = runqueues_next_ns(&queues);
		done = runqueues_happen(&queues);
		if (done == 0)
			runqueues_enter(&queues, at_ns, 0, MS);
	}
	ck_assert_uint_le(at_ns, 8 * MS);
	runqueues_free(&queues);
}
END_TEST

START_TEST(a_pulled_actor_goes_to_its_wakers_cpu)
{
	struct runqueues queues;

	/* at the tick of 4 ms it gets the other CPU, or its turn on its waker's */
	for (int keeps_hot = 0; keeps_hot < 2; keeps_hot++) {
		runqueues_make(&queues, 2, 2);
		runqueues_reset(&queues, 2, assume.tick);
		queues.keeps_hot = keeps_hot;
		runqueues_enter(&queues, 0, 0, 10 * MS);
		runqueues_pull(&queues, 1, 0);
		runqueues_enter(&queues, 0, 1, 0.5 * MS);
		if (keeps_hot)
			queues.runners[1].last_ran_ns = 10 * MS;
		expect_done(&queues, 1, 1, 4.5);
		expect_done(&queues, 2, 0, keeps_hot ? 10.5 : 10);
		runqueues_free(&queues);
	}
}
END_TEST

START_TEST(much_shorter_queues_fetch)
{
	struct runqueues queues;

	/* Two of 40 ms are behind one that runs on and on, two of 4 ms behind another one. The CPU
	 * with only that one left takes one of the long ones; else they would take 120 ms. */
	runqueues_make(&queues, 6, 2);
	runqueues_reset(&queues, 2, assume.tick);
	for (uint32_t i = 4; i < 6; i++)
		runqueues_enter(&queues, 0, i, 1000 * MS);
	for (uint32_t i = 0; i < 4; i++)
		runqueues_enter(&queues, 0, i, i % 2 ? 4 * MS : 40 * MS);
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t at_ns;

		ck_assert_uint_ne(next_done(&queues, &at_ns), NO_INDEX);
		ck_assert_double_lt((double)at_ns, 100 * MS);
	}
	runqueues_free(&queues);
}
END_TEST

START_TEST(a_short_one_does_not_wait_for_a_long_one)
{
	struct runqueues queues;

	/* it takes the CPU at once: the other has had its slice, and it is owed a little then */
	runqueues_make(&queues, 2, 1);
	runqueues_reset(&queues, 1, assume.tick);
	runqueues_enter(&queues, 0, 0, 100 * MS);
	runqueues_enter(&queues, 2 * MS, 1, 1 * MS);
	expect_done(&queues, 1, 1, 3);
	runqueues_enter(&queues, 9 * MS / 2, 1, 1 * MS);
	expect_done(&queues, 2, 1, 5.5);
	expect_done(&queues, 3, 0, 102);
	runqueues_free(&queues);
}
END_TEST

START_TEST(the_niced_one_gets_less)
{
	struct runqueues queues;

	runqueues_make(&queues, 2, 1);
	runqueues_reset(&queues, 1, assume.tick);
	runqueues_weigh(&queues, 0, 1.0 / 68);
	runqueues_enter(&queues, 0, 0, 10 * MS);
	runqueues_enter(&queues, 0, 1, 100 * MS);
	expect_done(&queues, 1, 1, 104);
	expect_done(&queues, 2, 0, 110);
	runqueues_free(&queues);
}
END_TEST

/* One that weighs as much as four has a CPU for itself, and the four share the other one. */
START_TEST(loads_are_made_equal)
{
	struct runqueues queues;
	uint64_t at_ns = 0;

	runqueues_make(&queues, 5, 2);
	runqueues_reset(&queues, 2, assume.tick);
	runqueues_weigh(&queues, 4, 4);
	for (uint32_t i = 0; i < 5; i++)
		runqueues_enter(&queues, 0, i, i == 4 ? 1000 * MS : 100 * MS);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_uint_lt(next_done(&queues, &at_ns), 4);
	ck_assert_double_eq_tol((double)at_ns, 400 * MS, 20 * MS);
	runqueues_free(&queues);
}
END_TEST

START_TEST(an_idle_cpu_is_used)
{
	struct runqueues queues;

	runqueues_make(&queues, 3, 2);
	runqueues_reset(&queues, 2, assume.tick);
	runqueues_enter(&queues, 0, 0, 10 * MS);
	runqueues_enter(&queues, 0, 1, 2 * MS);
	expect_done(&queues, 1, 1, 2);
	runqueues_enter(&queues, 3 * MS, 2, 1 * MS); /* new: where nobody is */
	runqueues_enter(&queues, 3 * MS, 1, 3 * MS); /* behind it, and is fetched by nobody */
	expect_done(&queues, 2, 2, 4);
	expect_done(&queues, 3, 1, 7);
	expect_done(&queues, 4, 0, 10);
	runqueues_free(&queues);
}
END_TEST

START_TEST(who_goes_on_keeps_its_cpu)
{
	struct runqueues queues;

	runqueues_make(&queues, 2, 1);
	runqueues_reset(&queues, 1, assume.tick);
	runqueues_enter(&queues, 0, 0, 1 * MS);
	runqueues_enter(&queues, 0, 1, 1 * MS);
	ck_assert_uint_eq(runqueues_next_ns(&queues), 1 * MS);
	ck_assert_uint_eq(runqueues_happen(&queues), 0);
	runqueues_enter(&queues, 1 * MS, 0, 1 * MS); /* another run, with no sleep between */
	expect_done(&queues, 1, 0, 2);
	expect_done(&queues, 2, 1, 3);
	runqueues_free(&queues);
}
END_TEST

START_TEST(cpus_that_others_use_are_slower)
{
	struct runqueues queues;

	runqueues_make(&queues, 2, 1.5);
	runqueues_reset(&queues, 1.5, assume.tick);
	runqueues_enter(&queues, 0, 0, 3 * MS);
	runqueues_enter(&queues, 0, 1, 6 * MS);
	expect_done(&queues, 1, 0, 4);
	expect_done(&queues, 2, 1, 8);
	runqueues_free(&queues);
}
END_TEST

/* Three on two CPUs: 0 runs, 1 keeps the other CPU busy, 2 waits if it is there. */
static void three_on_two(struct runqueues *queues, double cpus, bool somebody_waits)
{
	runqueues_make(queues, 3, 2);
	runqueues_reset(queues, cpus, assume.tick);
	runqueues_enter(queues, 0, 0, 1 * MS);
	runqueues_enter(queues, 0, 1, 10 * MS);
	if (somebody_waits)
		runqueues_enter(queues, 0, 2, 10 * MS);
	ck_assert_uint_eq(runqueues_happen(queues), 0);
}

static void expect_same(const struct runqueues *queues, const struct runqueues *turns, size_t row)
{
	const struct runner *runner = &queues->runners[0], *other = &turns->runners[0];

	ck_assert_msg(queues->running == turns->running && queues->now_ns == turns->now_ns &&
			      queues->next_ns == turns->next_ns &&
			      queues->cpus[0].end_ns == turns->cpus[0].end_ns &&
			      queues->cpus[0].is_slice_over == turns->cpus[0].is_slice_over,
		      "row %zu", row);
	ck_assert_msg(runner->virtual_ns == other->virtual_ns &&
			      runner->deadline_ns == other->deadline_ns &&
			      runner->left_ns == other->left_ns &&
			      runner->since_ns == other->since_ns,
		      "row %zu", row);
}

START_TEST(runs_that_nobody_interrupts_end_as_if_by_turns)
{
	static const struct {
		double cpus;
		uint64_t first_ns, second_ns, until_ns;
		bool somebody_waits, is_through;
	} rows[] = {
		/* 0 */ { 2, 0, 2 * MS, UINT64_MAX, false, true },
		/* 1 */ { 2, 1 * MS, 1 * MS, 3 * MS, false, true },
		/* 2 */ { 2, 1 * MS, 1 * MS, 3 * MS - 1, false, false }, /* somebody is earlier */
		/* 3 */ { 2, 100000, 9 * MS - 100001, UINT64_MAX, false, true },
		/* 4 */
		{ 2, 100000, 9 * MS - 100000, UINT64_MAX, false, false }, /* the other ends */
		/* 5 */ { 2, 1, 3 * MS - 2, UINT64_MAX, true, true },
		/* 6 */ { 2, 1, 3 * MS - 1, UINT64_MAX, true, false }, /* the timer ticks */
		/* 7 */ { 1.5, 333333, 777777, UINT64_MAX, false, true },
		/* 8 */ { 1.5, 0, 9 * MS, UINT64_MAX, false, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct runqueues queues, turns;
		struct run_ahead ahead;

		three_on_two(&queues, rows[i].cpus, rows[i].somebody_waits);
		three_on_two(&turns, rows[i].cpus, rows[i].somebody_waits);
		runqueues_ahead_begin(&queues, &ahead, 0);
		ck_assert(runqueues_ahead_run(&ahead, rows[i].first_ns, rows[i].until_ns));
		bool is_through = runqueues_ahead_run(&ahead, rows[i].second_ns, rows[i].until_ns);
		ck_assert_msg(is_through == rows[i].is_through, "row %zu", i);
		runqueues_ahead_end(&queues, &ahead);
		for (int run = 0; run <= is_through; run++) {
			uint64_t run_ns = run ? rows[i].second_ns : rows[i].first_ns;

			runqueues_enter(&turns, turns.now_ns, 0, (double)run_ns);
			ck_assert_uint_eq(runqueues_happen(&turns), 0);
		}
		expect_same(&queues, &turns, i);
		runqueues_free(&queues);
		runqueues_free(&turns);
	}
}
END_TEST

START_TEST(a_cpu_that_nobody_wants_is_had_again_after_a_sleep)
{
	static const struct {
		uint64_t to_ns, until_ns;
		bool somebody_waits, has_slept;
	} rows[] = {
		/* 0 */ { 3 * MS, UINT64_MAX, false, true },
		/* 1 */ { 3 * MS, 3 * MS, false, false },      /* somebody else is first */
		/* 2 */ { 10 * MS, UINT64_MAX, false, false }, /* the other CPU's run ends */
		/* 3 */ { 3 * MS, UINT64_MAX, true, false },   /* the one that waits gets it */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct runqueues queues, turns;
		struct run_ahead ahead;

		three_on_two(&queues, 2, rows[i].somebody_waits);
		three_on_two(&turns, 2, rows[i].somebody_waits);
		runqueues_ahead_begin(&queues, &ahead, 0);
		bool has_slept = runqueues_ahead_sleep(&ahead, rows[i].to_ns, rows[i].until_ns);
		ck_assert_msg(has_slept == rows[i].has_slept, "row %zu", i);
		if (has_slept) {
			ck_assert(runqueues_ahead_run(&ahead, 1000, UINT64_MAX));
			runqueues_ahead_end(&queues, &ahead);
			runqueues_off(&turns, 1 * MS, 0);
			for (uint64_t run_ns = 0; run_ns <= 1000; run_ns += 1000) {
				uint64_t at_ns = run_ns ? turns.now_ns : rows[i].to_ns;

				runqueues_enter(&turns, at_ns, 0, (double)run_ns);
				ck_assert_uint_eq(runqueues_happen(&turns), 0);
			}
			expect_same(&queues, &turns, i);
		}
		runqueues_free(&queues);
		runqueues_free(&turns);
	}
}
END_TEST

START_TEST(who_comes_to_an_idle_cpu_is_first)
{
	struct runqueues queues;

	runqueues_make(&queues, 3, 2);
	runqueues_reset(&queues, 2, assume.tick);
	runqueues_enter(&queues, 0, 0, 1 * MS);
	runqueues_enter(&queues, 0, 1, 0);
	ck_assert(!runqueues_is_first(&queues, 0));
	ck_assert(runqueues_is_first(&queues, 1));
	ck_assert_uint_eq(runqueues_happen(&queues), 1);
	runqueues_off(&queues, 0, 1);
	runqueues_enter(&queues, 1 * MS, 1,
			0); /* the other's run ends now, and it was there before */
	ck_assert(runqueues_is_first(&queues, 0));
	ck_assert(!runqueues_is_first(&queues, 1));
	runqueues_enter(&queues, 1 * MS, 2, 0); /* there is no CPU for this one */
	ck_assert(!runqueues_is_first(&queues, 2));
	runqueues_free(&queues);
}
END_TEST

SUITE()
{
	TEST(two_on_one_cpu_take_turns);
	TEST(a_tick_at_the_end_of_a_run_counts);
	TEST(a_pulled_actor_goes_to_its_wakers_cpu);
	TEST(much_shorter_queues_fetch);
	TEST(a_short_one_does_not_wait_for_a_long_one);
	TEST(the_niced_one_gets_less);
	TEST(loads_are_made_equal);
	TEST(an_idle_cpu_is_used);
	TEST(who_goes_on_keeps_its_cpu);
	TEST(runs_that_nobody_interrupts_end_as_if_by_turns);
	TEST(a_cpu_that_nobody_wants_is_had_again_after_a_sleep);
	TEST(who_comes_to_an_idle_cpu_is_first);
	TEST(cpus_that_others_use_are_slower);
}
