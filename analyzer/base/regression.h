/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Least squares with several regressors and an intercept, with standard errors.
 *
 * Pure functions. Any thread.
 */
#ifndef WCPROF_REGRESSION_H
#define WCPROF_REGRESSION_H

#include <stddef.h>

enum { REGRESSORS_MAX = 12 };

struct regression {
	size_t count;
	/* By regressor; error INFINITY: it varied as others did, or not at all. */
	double slope[REGRESSORS_MAX];
	double error[REGRESSORS_MAX];
};

/* `x` has `count` numbers for each of the `rows`, one row after the other; there must be at least
 * two rows more than regressors. Both tables are centred in place. */
void regression_fit(struct regression *regression, double *x, double *y, size_t rows, size_t count);

#endif
