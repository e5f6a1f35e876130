/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a class would be said to be worth what it is not, or an answer that nothing
 * supports would seem sure.
 */
#include "base/regression.h"

#include "random.h"
#include "suite.h"

#include <math.h>

enum { ROWS = 60 };

/* From -1 to 1. */
static double noise(uint64_t *state)
{
	return 2e-6 * (double)random_number(state, 1000001) - 1;
}

START_TEST(slopes_are_found)
{
	double x[ROWS * 2], y[ROWS];
	struct regression regression;
	uint64_t state = 1;
	for (size_t i = 0; i < ROWS; i++) {
		x[2 * i] = noise(&state) + 5;
		x[2 * i + 1] = 0.7 * x[2 * i] + noise(&state);
		y[i] = 40 + 3 * x[2 * i] - 2 * x[2 * i + 1];
	}
	regression_fit(&regression, x, y, ROWS, 2);
	ck_assert_double_eq_tol(regression.slope[0], 3, 1e-6);
	ck_assert_double_eq_tol(regression.slope[1], -2, 1e-6);
	ck_assert_double_lt(regression.error[0], 1e-6);
}
END_TEST

/* In 200 draws the truth is within three errors nearly always, and within half an error not. */
START_TEST(errors_are_as_large_as_chance)
{
	uint64_t state = 7;
	int within = 0, close = 0;
	for (int draw = 0; draw < 200; draw++) {
		double x[ROWS], y[ROWS];
		struct regression regression;
		for (size_t i = 0; i < ROWS; i++) {
			x[i] = noise(&state);
			y[i] = x[i] + noise(&state) * (1 + fabs(x[i]));
		}
		regression_fit(&regression, x, y, ROWS, 1);
		double off = fabs(regression.slope[0] - 1);
		within += off < 3 * regression.error[0];
		close += off < 0.5 * regression.error[0];
	}
	ck_assert_int_ge(within, 195);
	ck_assert_int_lt(close, 120);
}
END_TEST

START_TEST(regressors_that_go_together_are_not_told_apart)
{
	double x[ROWS * 3], y[ROWS];
	struct regression regression;
	uint64_t state = 3;
	for (size_t i = 0; i < ROWS; i++) {
		x[3 * i] = noise(&state);
		x[3 * i + 1] = 2 * x[3 * i];
		x[3 * i + 2] = 0;
		y[i] = x[3 * i];
	}
	regression_fit(&regression, x, y, ROWS, 3);
	for (size_t k = 0; k < 3; k++)
		ck_assert(isinf(regression.error[k]));
}
END_TEST

SUITE()
{
	TEST(slopes_are_found);
	TEST(errors_are_as_large_as_chance);
	TEST(regressors_that_go_together_are_not_told_apart);
}
