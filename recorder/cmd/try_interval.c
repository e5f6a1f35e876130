/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Student's t by its distribution for whole degrees of freedom, which is a finite sum.
 *
 * With an angle a whose tangent is t / sqrt(n), the probability that |T| < t is a sum over powers
 * of cos a. The quantile is found by halving: t is where the sum is the probability. No state.
 */
#include "try_interval.h"

#include <assert.h>
#include <math.h>

static const double SURENESS = 0.95;
static const double T_MOST = 1e9;

enum { HALVINGS = 200 };

/* The probability that |T| < t. */
static double within(size_t freedom, double t)
{
	double angle = atan(t / sqrt((double)freedom)), cosine = cos(angle);
	bool is_odd = freedom % 2 == 1;
	double term = is_odd ? cosine : 1, sum = 0;

	/* 1 + 1/2 c^2 + 1*3/(2*4) c^4 ...; odd: c + 2/3 c^3 + 2*4/(3*5) c^5 ... */
	for (size_t power = is_odd ? 1 : 0; power + 2 <= freedom; power += 2) {
		sum += term;
		term *= cosine * cosine * (double)(power + 1) / (double)(power + 2);
	}
	sum *= sin(angle);
	return is_odd ? (angle + sum) * 2 / acos(-1) : sum;
}

double try_t_quantile(size_t freedom, double probability)
{
	double low = 0, high = T_MOST;

	assert(freedom > 0 && probability > 0 && probability < 1);
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (within(freedom, middle) < probability)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

static double percent(double log_ratio)
{
	return 100 * (exp(log_ratio) - 1);
}

struct try_interval try_interval_percent(const double *log_ratios, size_t count)
{
	double sum = 0, squares = 0, mean, half;

	assert(count > 0);
	for (size_t i = 0; i < count; i++)
		sum += log_ratios[i];
	mean = sum / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (log_ratios[i] - mean) * (log_ratios[i] - mean);
	if (count == 1)
		return (struct try_interval){ .value = percent(mean) };
	half = try_t_quantile(count - 1, SURENESS) *
	       sqrt(squares / (double)(count - 1) / (double)count);
	return (struct try_interval){
		.value = percent(mean),
		.low = percent(mean - half),
		.high = percent(mean + half),
		.has_bounds = true,
	};
}

bool try_intervals_meet(const struct try_interval *a, const struct try_interval *b, double apart)
{
	assert(a->has_bounds && b->has_bounds && apart >= 0);
	return a->low <= b->high + apart && b->low <= a->high + apart;
}
