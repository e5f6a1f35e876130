/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves the normal equations; regression.h has the contract.
 *
 * Errors are the usual ones, or those that hold if some rows scatter more than others (White's),
 * whichever are larger.
 */
#include "regression.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* A regressor whose error is so many times larger beside the others, squared, is not told from
 * them. */
static const double TOGETHER = 100;
static const double RIDGE = 1e-9; /* keeps the equations solvable where two are the same */

struct square {
	double at[REGRESSORS_MAX][REGRESSORS_MAX];
};

static void centre(double *numbers, size_t rows, size_t stride)
{
	double sum = 0;
	for (size_t i = 0; i < rows; i++)
		sum += numbers[i * stride];
	for (size_t i = 0; i < rows; i++)
		numbers[i * stride] -= sum / (double)rows;
}

/* Sums of products of regressors, each row with its weight; NULL = all with 1. */
static void products(struct square *square, const double *x, const double *weight, size_t rows,
		     size_t count)
{
	memset(square, 0, sizeof(*square));
	for (size_t i = 0; i < rows; i++)
		for (size_t a = 0; a < count; a++)
			for (size_t b = 0; b < count; b++)
				square->at[a][b] += x[i * count + a] * x[i * count + b] *
						    (weight ? weight[i] : 1);
}

/* By Gauss and Jordan; the matrix is positive. */
static void invert(struct square *inverse, const struct square *of, size_t count)
{
	struct square matrix = *of;
	memset(inverse, 0, sizeof(*inverse));
	for (size_t k = 0; k < count; k++) {
		inverse->at[k][k] = 1;
		matrix.at[k][k] = of->at[k][k] > 0 ? of->at[k][k] * (1 + RIDGE) : 1;
	}
	for (size_t k = 0; k < count; k++) {
		double pivot = matrix.at[k][k];
		for (size_t j = 0; j < count; j++) {
			matrix.at[k][j] /= pivot;
			inverse->at[k][j] /= pivot;
		}
		for (size_t i = 0; i < count; i++) {
			double times = matrix.at[i][k];
			for (size_t j = 0; i != k && j < count; j++) {
				matrix.at[i][j] -= times * matrix.at[k][j];
				inverse->at[i][j] -= times * inverse->at[k][j];
			}
		}
	}
}

/* It varied, and not as the others did. */
static bool is_told_apart(const struct square *matrix, const struct square *inverse, size_t k)
{
	return matrix->at[k][k] > 0 && inverse->at[k][k] * matrix->at[k][k] < TOGETHER;
}

/* Leaves what the slopes do not explain in `y`, squared. Returns its sum. */
static double residuals(const struct regression *regression, const double *x, double *y,
			size_t rows)
{
	double sum = 0;
	for (size_t i = 0; i < rows; i++) {
		for (size_t k = 0; k < regression->count; k++)
			y[i] -= regression->slope[k] * x[i * regression->count + k];
		y[i] *= y[i];
		sum += y[i];
	}
	return sum;
}

static double robust_variance(const struct square *inverse, const struct square *scatter,
			      size_t count, size_t k)
{
	double variance = 0;
	for (size_t a = 0; a < count; a++)
		for (size_t b = 0; b < count; b++)
			variance += inverse->at[k][a] * scatter->at[a][b] * inverse->at[b][k];
	return variance;
}

void regression_fit(struct regression *regression, double *x, double *y, size_t rows, size_t count)
{
	struct square matrix, inverse, scatter;
	double free_rows = (double)rows - (double)count - 1;
	assert(count <= REGRESSORS_MAX && rows >= count + 2);
	*regression = (struct regression){ .count = count };
	centre(y, rows, 1);
	for (size_t k = 0; k < count; k++)
		centre(x + k, rows, count);
	products(&matrix, x, NULL, rows, count);
	invert(&inverse, &matrix, count);
	for (size_t i = 0; i < rows; i++)
		for (size_t a = 0; a < count; a++)
			for (size_t b = 0; b < count; b++)
				regression->slope[a] += inverse.at[a][b] * x[i * count + b] * y[i];
	double variance = residuals(regression, x, y, rows) / free_rows;
	products(&scatter, x, y, rows, count);
	for (size_t k = 0; k < count; k++) {
		double robust =
			robust_variance(&inverse, &scatter, count, k) * (double)rows / free_rows;
		regression->error[k] = is_told_apart(&matrix, &inverse, k)
					       ? sqrt(fmax(variance * inverse.at[k][k], robust))
					       : INFINITY;
	}
}
