/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, chance would be told as a difference, or a difference be taken for chance.
 */
#include "base/bootstrap.h"

#include "random.h"
#include "suite.h"

#include <math.h>

enum { UNITS_MAX = 400, TRIES = 200 };

struct sample {
	double values[2][UNITS_MAX];
	size_t counts[2];
	bool is_short; /* some draw had not as many units as the group */
};

/* The mean of the first group less that of the second, and that of the first. */
static void means(void *context, const uint32_t *const *times, double *results)
{
	struct sample *sample = context;
	double mean[2] = { 0 };
	for (size_t g = 0; g < 2; g++) {
		uint64_t units = 0;
		for (size_t i = 0; i < sample->counts[g]; i++) {
			mean[g] += sample->values[g][i] * times[g][i];
			units += times[g][i];
		}
		/* libcheck notes each assertion in a file: a million are most of the time. */
		sample->is_short |= units != sample->counts[g];
		mean[g] /= (double)units;
	}
	results[0] = mean[0] - mean[1];
	results[1] = mean[0];
}

/* Exponential of mean 1. */
static double waiting(uint64_t *state)
{
	return -log((1 + (double)random_number(state, 1000000)) / 1000001);
}

/* Values of `alike` neighbours are one and the same. */
static void sample_draw(struct sample *sample, uint64_t *state, size_t first, size_t second,
			size_t alike)
{
	*sample = (struct sample){ .counts = { first, second } };
	for (size_t g = 0; g < 2; g++)
		for (size_t i = 0; i < sample->counts[g]; i++)
			sample->values[g][i] = i % alike ? sample->values[g][i - 1]
							 : waiting(state) + (g == 0 ? 2 : 0);
}

static void run(struct sample *sample, size_t few, struct bootstrap_interval *intervals)
{
	const struct bootstrap bootstrap = {
		.unit_counts = { sample->counts[0], sample->counts[1] },
		.group_count = 2,
		.few = few,
		.result_count = 2,
		.statistic = means,
		.context = sample,
	};
	bootstrap_run(&bootstrap, intervals);
	ck_assert(!sample->is_short);
}

/* Of so many samples, in how many the interval of the difference has the truth. */
static int covered(size_t first, size_t second, size_t alike)
{
	uint64_t state = 5;
	int holds = 0;
	for (int i = 0; i < TRIES; i++) {
		struct sample sample;
		struct bootstrap_interval intervals[2];
		sample_draw(&sample, &state, first, second, alike);
		run(&sample, 0, intervals);
		holds += intervals[0].least <= 2 && 2 <= intervals[0].most;
	}
	return holds;
}

/* Exponential values are skewed, so that a few of them have the long ones too seldom. */
START_TEST(intervals_have_the_truth)
{
	int holds = covered(200, 100, 1);
	ck_assert_int_ge(holds, TRIES * 92 / 100);
	ck_assert_int_lt(holds, TRIES);
	ck_assert_int_ge(covered(8, 100, 1), TRIES * 88 / 100);
}
END_TEST

START_TEST(neighbours_that_are_alike_count_as_few)
{
	ck_assert_int_ge(covered(300, 300, 5), TRIES * 86 / 100);
}
END_TEST

START_TEST(the_same_sample_has_the_same_interval)
{
	struct bootstrap_interval first[2], second[2];
	struct sample sample;
	uint64_t state = 9;
	sample_draw(&sample, &state, 50, 70, 1);
	run(&sample, 0, first);
	run(&sample, 0, second);
	ck_assert_mem_eq(first, second, sizeof(first));
	ck_assert_double_lt(first[0].least, first[0].value);
	ck_assert_double_gt(first[0].most, first[0].value);
	ck_assert(bootstrap_is_told(&first[1]));
}
END_TEST

START_TEST(few_units_make_intervals_wider)
{
	struct bootstrap_interval many[2], few[2], one[2];
	struct sample sample;
	uint64_t state = 9;
	sample_draw(&sample, &state, 50, 70, 1);
	run(&sample, 0, many);
	run(&sample, 5, few);
	run(&sample, 1, one);
	ck_assert_double_gt(few[0].most - few[0].least, 1.5 * (many[0].most - many[0].least));
	ck_assert_double_gt(one[0].most - one[0].least, 2 * (few[0].most - few[0].least));
}
END_TEST

START_TEST(one_unit_alone_is_enough_to_run)
{
	struct sample sample = { .values = { { 3 }, { 1 } }, .counts = { 1, 1 } };
	struct bootstrap_interval intervals[2];
	run(&sample, 0, intervals);
	ck_assert_double_eq(intervals[0].least, 2);
	ck_assert_double_eq(intervals[0].most, 2);
	intervals[0] = (struct bootstrap_interval){ 1, 0, 2 };
	ck_assert(!bootstrap_is_told(&intervals[0]));
	intervals[0] = (struct bootstrap_interval){ -1, -2, -0.5 };
	ck_assert(bootstrap_is_told(&intervals[0]));
}
END_TEST

SUITE()
{
	TEST(intervals_have_the_truth);
	TEST(neighbours_that_are_alike_count_as_few);
	TEST(the_same_sample_has_the_same_interval);
	TEST(few_units_make_intervals_wider);
	TEST(one_unit_alone_is_enough_to_run);
}
