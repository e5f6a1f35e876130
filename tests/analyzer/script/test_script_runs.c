/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a run that waited for a CPU keeps that wait, or one that did not is cut. */
#include "script/script_runs.h"
#include "suite.h"

/* Runs in microseconds, each of its kind, in one stretch that used so much CPU time. */
static void add(struct script_runs *runs, struct step *steps, uint32_t first, const uint64_t *us,
		uint32_t count, uint64_t cpu_us)
{
	for (uint32_t i = 0; i < count; i++) {
		steps[first + i] = (struct step){ .ns = us[i] * 1000, .type = STEP_RUN };
		script_runs_add(runs, first + i, us[i] * 1000);
		runs->runs[runs->run_count - 1].key = 7 + i % 2;
	}
	script_runs_end_stretch(runs, cpu_us == UINT64_MAX ? cpu_us : cpu_us * 1000);
}

static void expect(const struct step *steps, uint32_t first, const uint64_t *us, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		ck_assert_msg(steps[first + i].ns + 2000 > us[i] * 1000 &&
				      steps[first + i].ns < us[i] * 1000 + 2000,
			      "run %u: %llu ns, not %llu us", i,
			      (unsigned long long)steps[first + i].ns, (unsigned long long)us[i]);
}

START_TEST(the_one_that_waited_is_cut)
{
	struct script_runs runs = { 0 };
	struct step steps[12];

	/* 100 and 50 in turn; one of 50 had to wait for 4000 in each of two stretches */
	static const uint64_t walls[] = { 100, 50, 100, 4050, 100, 50 };
	static const uint64_t true_us[] = { 100, 50, 100, 50, 100, 50 };
	add(&runs, steps, 0, walls, 6, 450);
	add(&runs, steps, 6, walls, 6, 450);
	script_runs_cut(&runs, steps, 0);
	expect(steps, 0, true_us, 6);
	expect(steps, 6, true_us, 6);
	script_runs_free(&runs);
}
END_TEST

START_TEST(what_is_not_known_is_left_alone)
{
	struct script_runs runs = { 0 };
	struct step steps[4];
	static const uint64_t walls[] = { 100, 4050 };

	add(&runs, steps, 0, walls, 2, UINT64_MAX);
	add(&runs, steps, 2, walls, 2, 9000); /* more than the clock: rounding of either */
	script_runs_cut(&runs, steps, 0);
	expect(steps, 0, walls, 2);
	expect(steps, 2, walls, 2);
	script_runs_free(&runs);
}
END_TEST

/* Of 8000 us off the CPU no more than `queued_us` were waits for one: a part of each stretch. */
START_TEST(time_off_the_cpu_for_other_reasons_stays)
{
	static const struct {
		double queued_us;
		uint64_t left_us;
	} rows[] = { { 0, 4050 }, { 4000, 2050 }, { 8000, 50 }, { 9000, 50 } };
	static const uint64_t walls[] = { 100, 50, 100, 4050, 100, 50 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct script_runs runs = { 0 };
		struct step steps[13];
		const uint64_t expected_us[] = { 100, 50, 100, rows[i].left_us, 100, 50 };

		/* another thread, which never waited */
		add(&runs, steps, 0, walls, 1, 100);
		script_runs_end_thread(&runs, 0);
		add(&runs, steps, 1, walls, 6, 450);
		add(&runs, steps, 7, walls, 6, 450);
		script_runs_end_thread(&runs, rows[i].queued_us * 1000);
		script_runs_cut(&runs, steps, 0);
		expect(steps, 0, walls, 1);
		expect(steps, 1, expected_us, 6);
		expect(steps, 7, expected_us, 6);
		script_runs_free(&runs);
	}
}
END_TEST

START_TEST(what_was_dropped_is_not_touched)
{
	struct script_runs runs = { 0 };
	struct step steps[4];
	static const uint64_t walls[] = { 1000, 1000 };
	static const uint64_t halves[] = { 500, 500 };

	add(&runs, steps, 0, walls, 2, 1000);
	add(&runs, steps, 2, walls, 2, 1000);
	script_runs_drop(&runs, 2);
	script_runs_cut(&runs, steps, 0);
	expect(steps, 0, halves, 2);
	expect(steps, 2, walls, 2);
	script_runs_free(&runs);
}
END_TEST

/* Stretches of a run of 100 us and a sleep of 1000. */
static void add_sleeps(struct script_runs *runs, struct step *steps, uint32_t count,
		       uint64_t cpu_us, bool is_mixed)
{
	static const uint64_t wall_us[] = { 100 };

	for (uint32_t i = 0; i < count; i++) {
		script_runs_slept(runs, 1000000);
		if (is_mixed)
			script_runs_called(runs);
		add(runs, steps, (uint32_t)runs->run_count, wall_us, 1, cpu_us);
	}
}

START_TEST(sleeps_use_what_runs_did_not)
{
	static const struct {
		uint32_t slept, queued, looked, mixed; /* stretches */
		uint64_t sleep_us;
	} rows[] = {
		/* 0 */ { 8, 0, 0, 0, 5 },
		/* 1 */ { 7, 0, 0, 0, 0 }, /* too few */
		/* 2 */ { 8, 20, 0, 0, 5 },
		/* 3 */ { 8, 0, 7, 0, 5 },
		/* 4 */ { 8, 0, 8, 0, 0 }, /* it does not sleep, it looks */
		/* 5 */ { 8, 0, 0, 20, 5 },
		/* 6 */ { 0, 0, 0, 20, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct script_runs runs = { 0 };
		struct step steps[40];

		add_sleeps(&runs, steps, rows[i].slept, 105, false);
		add_sleeps(&runs, steps, rows[i].queued, 90, false);
		add_sleeps(&runs, steps, rows[i].looked, 900, false);
		add_sleeps(&runs, steps, rows[i].mixed, 200, true);
		ck_assert_msg(script_runs_sleep_ns(&runs) == rows[i].sleep_us * 1000,
			      "row %zu: %llu ns", i,
			      (unsigned long long)script_runs_sleep_ns(&runs));
		script_runs_free(&runs);
	}
}
END_TEST

START_TEST(what_sleeps_used_is_not_of_the_runs)
{
	struct script_runs runs = { 0 };
	struct step steps[12];

	/* of two sleeps with 10 us each; one of the runs waited for a CPU as well */
	static const uint64_t walls[] = { 100, 50, 100, 4050, 100, 50 };
	static const uint64_t true_us[] = { 100, 50, 100, 50, 100, 50 };
	for (uint32_t first = 0; first < 12; first += 6) {
		script_runs_slept(&runs, 1000000);
		script_runs_slept(&runs, 1000000);
		add(&runs, steps, first, walls, 6, 470);
	}
	script_runs_cut(&runs, steps, 10000);
	expect(steps, 0, true_us, 6);
	expect(steps, 6, true_us, 6);
	script_runs_free(&runs);
}
END_TEST

SUITE()
{
	TEST(the_one_that_waited_is_cut);
	TEST(what_is_not_known_is_left_alone);
	TEST(time_off_the_cpu_for_other_reasons_stays);
	TEST(what_was_dropped_is_not_touched);
	TEST(sleeps_use_what_runs_did_not);
	TEST(what_sleeps_used_is_not_of_the_runs);
}
