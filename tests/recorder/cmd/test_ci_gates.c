/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if noise fails a build, or hides that it is worse; recordings are made by hand. */
#include "ci.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "suite.h"

enum { PAIRS = 10, CALLS = 8, LETTERS = 8 };

static struct ci_run sides[CI_SIDES][CI_ROUNDS * PAIRS];
static struct ci_class classes[CI_SIDES][CI_ROUNDS * PAIRS][CALLS];
static char names[CALLS][LETTERS];
static struct ci_plan plan;
static uint64_t state;

/* About normal, of deviation 1. */
static double noise(void)
{
	double sum = 0;

	for (int i = 0; i < 12; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(state >> 40) / (double)(1 << 24);
	}
	return sum - 6;
}

/* Runs whose CPU time has noise of 3%, and whose first calls vary by `share`; others do not. */
static void make(uint64_t seed, size_t varying, double share, double cpu_factor)
{
	state = seed;
	memset(&plan, 0, sizeof(plan));
	plan.fail_over = 0.05;
	plan.runs.pairs = CI_ROUNDS * PAIRS;
	plan.runs.are_requests = true;
	for (int side = 0; side < CI_SIDES; side++) {
		plan.runs.runs[side] = sides[side];
		for (size_t i = 0; i < plan.runs.pairs; i++) {
			double factor = side == CI_NEW ? cpu_factor : 1;

			sides[side][i] =
				(struct ci_run){ .units = 1,
						 .cpu_ns = factor * 1e6 * (1 + 0.03 * noise()),
						 .classes = classes[side][i],
						 .class_count = CALLS };
			for (size_t k = 0; k < CALLS; k++) {
				snprintf(names[k], LETTERS, "call%zu", k);
				classes[side][i][k] = (struct ci_class){ .name = names[k],
									 .kind = "io",
									 .count = 100 };
				if (k < varying)
					classes[side][i][k].count *= 1 + share * noise();
			}
		}
	}
	ck_assert(ci_gates_choose(&plan));
}

static void drop(void)
{
	for (size_t i = 0; i < plan.gate_count; i++)
		free(plan.gates[i].figure.name);
	free(plan.gates);
}

/* Of so many plans, how many have a gate that has failed in the first round; in both. */
static void count_failed(size_t tries, double cpu_factor, size_t *first, size_t *both)
{
	*first = *both = 0;
	for (size_t i = 0; i < tries; i++) {
		make(i + 1, CALLS, 0.03, cpu_factor);
		ck_assert(ci_gates_judge(&plan, 0, PAIRS));
		*first += ci_gates_count(&plan, CI_GATE_FAILED) > 0;
		if (ci_gates_want_more(&plan))
			ck_assert(ci_gates_judge(&plan, 1, PAIRS));
		*both += ci_gates_count(&plan, CI_GATE_FAILED) > 0;
		drop();
	}
}

START_TEST(usual_gates_are_cpu_time_and_counts)
{
	make(1, 0, 0, 1);
	ck_assert_uint_eq(plan.gate_count, 1 + CALLS + 3);
	ck_assert_int_eq(plan.gates[0].figure.what, CI_CPU);
	for (size_t i = 0; i < plan.gate_count; i++)
		ck_assert_int_eq(plan.gates[i].is_gate, i <= CALLS);
	drop();
}
END_TEST

/* Nine gates with noise; with a size of nothing at all only chance protects. */
START_TEST(equal_builds_do_not_fail)
{
	size_t first = 0, both = 0;

	for (uint64_t i = 0; i < 400; i++) {
		make(1000 + i, CALLS, 0.03, 1);
		plan.fail_over = 0;
		for (size_t k = 0; k < plan.gate_count; k++)
			plan.gates[k].is_asked = true;
		ck_assert(ci_gates_judge(&plan, 0, PAIRS));
		first += ci_gates_count(&plan, CI_GATE_FAILED) > 0;
		drop();
	}
	/* 1 in 20 of all plans, not of all gates. */
	ck_assert_uint_le(first, 400 / 20 + 12);
	count_failed(400, 1, &first, &both);
	ck_assert_uint_eq(both, 0);
}
END_TEST

START_TEST(slower_builds_fail)
{
	size_t first, both;

	count_failed(100, 1.1, &first, &both);
	ck_assert_uint_ge(both, 95);
}
END_TEST

START_TEST(noise_is_told_and_hides_nothing)
{
	make(7, 2, 0.5, 1);
	plan.gates[1].is_asked = true;
	ck_assert(ci_gates_judge(&plan, 0, PAIRS));
	ck_assert_int_eq(plan.gates[1].state, CI_GATE_UNTOLD);
	ck_assert_ptr_nonnull(strstr(plan.gates[1].why, "noise hides increases below "));
	ck_assert(plan.gates[1].wants_more);
	ck_assert_int_eq(plan.gates[2].state, CI_GATE_NOISY);
	ck_assert(!plan.gates[2].wants_more);
	ck_assert_int_eq(plan.gates[3].state, CI_GATE_PASSED);
	drop();
}
END_TEST

/* 8 of 10 pairs have one more call of 100: higher beyond chance, and by less than 5%. */
START_TEST(size_counts_as_well_as_chance)
{
	make(9, 0, 0, 1);
	for (size_t i = 0; i < PAIRS; i++)
		classes[CI_NEW][i][0].count += i < 8;
	ck_assert(ci_gates_judge(&plan, 0, PAIRS));
	ck_assert_double_lt(plan.gates[1].test.p, 0.01);
	ck_assert_int_eq(plan.gates[1].state, CI_GATE_PASSED);
	plan.fail_over = 0.005;
	ck_assert(ci_gates_judge(&plan, 0, PAIRS));
	ck_assert_int_eq(plan.gates[1].state, CI_GATE_FAILED);
	drop();
}
END_TEST

START_TEST(a_figure_that_a_run_lacks_is_untold)
{
	make(11, 0, 0, 1);
	sides[CI_NEW][4].cpu_ns = NAN;
	ck_assert(ci_gates_judge(&plan, 0, PAIRS));
	ck_assert_int_eq(plan.gates[0].state, CI_GATE_UNTOLD);
	ck_assert_str_eq(plan.gates[0].why, "pair 5 does not have it");
	drop();
}
END_TEST

START_TEST(a_least_effect_is_for_times)
{
	make(13, 0, 0, 2);
	plan.min_effect_ns = 3e6;
	classes[CI_NEW][0][0].count = 100;
	ck_assert(ci_gates_judge(&plan, 0, PAIRS));
	ck_assert_int_eq(plan.gates[0].state, CI_GATE_PASSED);
	plan.min_effect_ns = 5e5;
	ck_assert(ci_gates_judge(&plan, 0, PAIRS));
	ck_assert_int_eq(plan.gates[0].state, CI_GATE_FAILED);
	drop();
}
END_TEST

SUITE()
{
	TEST(usual_gates_are_cpu_time_and_counts);
	TEST(equal_builds_do_not_fail);
	TEST(slower_builds_fail);
	TEST(noise_is_told_and_hides_nothing);
	TEST(size_counts_as_well_as_chance);
	TEST(a_figure_that_a_run_lacks_is_untold);
	TEST(a_least_effect_is_for_times);
}
