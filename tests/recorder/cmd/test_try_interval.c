/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if chance is taken for an effect, or an effect for chance. */
#include "try_interval.h"

#include <math.h>

#include "suite.h"

/* From printed tables of Student's t, both sides together. */
static const struct {
	int row;
	size_t freedom;
	double probability;
	double t;
	double error;
} quantiles[] = {
	{ 0, 1, 0.95, 12.7062, 5e-5 },   { 1, 2, 0.95, 4.30265, 5e-6 },
	{ 2, 3, 0.95, 3.18245, 5e-6 },   { 3, 4, 0.95, 2.77645, 5e-6 },
	{ 4, 5, 0.95, 2.57058, 5e-6 },   { 5, 9, 0.95, 2.26216, 5e-6 },
	{ 6, 10, 0.95, 2.22814, 5e-6 },  { 7, 29, 0.95, 2.04523, 5e-6 },
	{ 8, 100, 0.95, 1.98397, 5e-6 }, { 9, 9, 0.99, 3.24984, 5e-6 },
	{ 10, 5, 0.5, 0.72669, 5e-6 },   { 11, 1000, 0.95, 1.96234, 5e-6 },
};

START_TEST(quantiles_are_those_of_the_tables)
{
	double t = try_t_quantile(quantiles[_i].freedom, quantiles[_i].probability);

	ck_assert_double_eq_tol(t, quantiles[_i].t, quantiles[_i].error);
}
END_TEST

/* Means and intervals as computed by hand: mean +- t * deviation / sqrt(count), then exp. */
static const struct {
	int row;
	double ratios[4];
	size_t count;
	double value, low, high;
} means[] = {
	{ 0, { 2, 2, 2 }, 3, 100, 100, 100 },
	/* twice as long and half as long */
	{ 1, { 2, 0.5 }, 2, 0, -99.98501, 667000 },
	/* logs 0.1, 0.2, 0.3, 0.2: mean 0.2, deviation 0.0816497, t 3.18245, half 0.129923 */
	{ 2,
	  { 1.105170918, 1.221402758, 1.349858808, 1.221402758 },
	  4,
	  22.14028,
	  7.259095,
	  39.086079 },
};

START_TEST(a_mean_of_ratios_has_its_interval)
{
	double logs[4];

	for (size_t i = 0; i < means[_i].count; i++)
		logs[i] = log(means[_i].ratios[i]);
	struct try_interval interval = try_interval_percent(logs, means[_i].count);
	ck_assert(interval.has_bounds);
	ck_assert_double_eq_tol(interval.value, means[_i].value, 1e-4);
	ck_assert_double_eq_tol(interval.low, means[_i].low, 1e-4);
	ck_assert_double_eq_tol(interval.high, means[_i].high, means[_i].high / 500 + 1e-4);
}
END_TEST

START_TEST(one_ratio_alone_has_no_interval)
{
	double logs[] = { log(1.5) };
	struct try_interval interval = try_interval_percent(logs, 1);

	ck_assert(!interval.has_bounds);
	ck_assert_double_eq_tol(interval.value, 50, 1e-9);
}
END_TEST

static const struct {
	int row;
	double a[2], b[2];
	bool do_overlap;
	bool do_meet; /* half a point apart */
} pairs[] = {
	{ 0, { 1, 2 }, { 1.5, 3 }, true, true },   { 1, { 1, 2 }, { 2.5, 3 }, false, true },
	{ 2, { 2.5, 3 }, { 1, 2 }, false, true },  { 3, { 1, 2 }, { 2.6, 3 }, false, false },
	{ 4, { 2.6, 3 }, { 1, 2 }, false, false }, { 5, { 1, 2 }, { 2, 3 }, true, true },
	{ 6, { -5, 5 }, { -1, 1 }, true, true },   { 7, { -1, 1 }, { -5, 5 }, true, true },
};

START_TEST(intervals_agree_where_they_overlap)
{
	const struct try_interval a = { 0, pairs[_i].a[0], pairs[_i].a[1], true };
	const struct try_interval b = { 0, pairs[_i].b[0], pairs[_i].b[1], true };

	ck_assert_int_eq(try_intervals_meet(&a, &b, 0), pairs[_i].do_overlap);
	ck_assert_int_eq(try_intervals_meet(&a, &b, 0.5), pairs[_i].do_meet);
}
END_TEST

SUITE()
{
	EACH(quantiles_are_those_of_the_tables, quantiles);
	EACH(a_mean_of_ratios_has_its_interval, means);
	TEST(one_ratio_alone_has_no_interval);
	EACH(intervals_agree_where_they_overlap, pairs);
}
