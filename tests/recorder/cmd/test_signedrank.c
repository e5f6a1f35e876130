/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if chance fails a build, or a build that is worse passes for chance. */
#include "signedrank.h"

#include <math.h>
#include <stdint.h>

#include "suite.h"

/* Subsets of the ranks, counted by hand; differences of 0 have no rank. */
static const struct {
	int row;
	double differences[10];
	size_t count;
	double p;
	double change;
} known[] = {
	{ 0, { 1, 2, 3, 4, 5 }, 5, 1.0 / 32, 3 },
	{ 1, { -1, -2, -3, -4, -5 }, 5, 1, -3 },
	{ 2, { 1, 2, 3, -4, 5 }, 5, 7.0 / 32, 2 },
	{ 3, { 1, 1, 1, 1, 1 }, 5, 1.0 / 32, 1 },
	{ 4, { 0, 0, 0, 0, 0 }, 5, 1, 0 },
	{ 5, { 0, 0, 0, 0, 7 }, 5, 0.5, 0 },
	{ 6, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, 10, 1.0 / 1024, 5.5 },
	{ 7, { 3 }, 1, 0.5, 3 },
};

START_TEST(chances_are_those_of_all_signs)
{
	struct signed_rank result;

	ck_assert(signed_rank_test(known[_i].differences, known[_i].count, &result));
	ck_assert_double_eq_tol(result.p, known[_i].p, 1e-12);
	ck_assert_double_eq_tol(result.change, known[_i].change, 1e-12);
	ck_assert_double_le(result.low, result.change);
	ck_assert_double_ge(result.high, result.change);
	ck_assert_int_eq(result.has_interval, known[_i].count >= SIGNED_RANK_PAIRS_LEAST);
}
END_TEST

static uint64_t state;

/* From -1 to 1, in steps so large that ties come. */
static double random_step(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)((int64_t)(state >> 33) % 13 - 6) / 6;
}

/* By the definition: the ranks' sum under each of 2^n signs. */
static double chance_by_force(const double *differences, size_t count)
{
	double ranks[10], sum = 0;
	size_t used = 0, as_large = 0;

	for (size_t i = 0; i < count; i++) {
		double below = 0, same = 0;

		for (size_t k = 0; k < count; k++) {
			below += differences[k] != 0 && fabs(differences[k]) < fabs(differences[i]);
			same += fabs(differences[k]) == fabs(differences[i]);
		}
		if (differences[i] == 0)
			continue;
		ranks[used++] = below + (same + 1) / 2;
		sum += differences[i] > 0 ? ranks[used - 1] : 0;
	}
	for (unsigned signs = 0; signs < 1u << used; signs++) {
		double other = 0;

		for (size_t i = 0; i < used; i++)
			other += signs >> i & 1 ? ranks[i] : 0;
		as_large += other >= sum;
	}
	return (double)as_large / (double)(1u << used);
}

START_TEST(ties_and_zeros_count_as_in_all_signs)
{
	double differences[10];
	struct signed_rank result;

	state = (uint64_t)_i;
	for (size_t i = 0; i < 10; i++)
		differences[i] = random_step();
	ck_assert(signed_rank_test(differences, 10, &result));
	ck_assert_double_eq_tol(result.p, chance_by_force(differences, 10), 1e-12);
}
END_TEST

/* Printed tables: of 10 pairs a sum of 10 or less has a chance of 0.042, and the 11th of the 55
 * means on either side is the border. */
START_TEST(the_interval_is_that_of_the_tables)
{
	const double differences[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512 };
	struct signed_rank result;

	ck_assert(signed_rank_test(differences, 10, &result));
	/* Doubled: 2 3 4 5 6 8 9 10 12 16, then 17; 1024 768 640 576 544 528 520 516 514 513,
	 * then 512. */
	ck_assert_double_eq_tol(result.low, 8.5, 1e-9);
	ck_assert_double_eq_tol(result.high, 256, 1e-9);
}
END_TEST

START_TEST(an_outlier_counts_as_one_pair)
{
	const double differences[] = { 1, 2, 1, 2, 1, 2, 1, 2, 1, -1e9 };
	struct signed_rank result;

	ck_assert(signed_rank_test(differences, 10, &result));
	ck_assert_double_gt(result.change, 0.9);
	ck_assert_double_lt(result.p, 0.05);
}
END_TEST

START_TEST(many_pairs_fit)
{
	double differences[SIGNED_RANK_PAIRS_MAX];
	struct signed_rank result;

	for (size_t i = 0; i < SIGNED_RANK_PAIRS_MAX; i++)
		differences[i] = i % 2 ? 1 + (double)i : -1 - (double)i;
	ck_assert(signed_rank_test(differences, SIGNED_RANK_PAIRS_MAX, &result));
	ck_assert_double_gt(result.p, 0.3);
	ck_assert_double_lt(result.low, 0);
	ck_assert_double_gt(result.high, 0);
}
END_TEST

SUITE()
{
	EACH(chances_are_those_of_all_signs, known);
	LOOP(ties_and_zeros_count_as_in_all_signs, 0, 200);
	TEST(the_interval_is_that_of_the_tables);
	TEST(an_outlier_counts_as_one_pair);
	TEST(many_pairs_fit);
}
