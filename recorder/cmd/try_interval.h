/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sure a mean of few numbers is: Student's t.
 *
 * Of times, logarithms of ratios are averaged: twice as long and half as long then cancel out. The
 * two times of a ratio are neighbours, so that a drift of the machine counts little.
 */
#ifndef WCPROF_TRY_INTERVAL_H
#define WCPROF_TRY_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

/* A number, and from where to where it may be. */
struct try_interval {
	double value;
	double low;
	double high;
	bool has_bounds; /* false: one number alone has no interval */
};

/* The t that a variable with so many degrees of freedom (1 or more) stays within, on both sides
 * together, with this probability. */
double try_t_quantile(size_t freedom, double probability);

/* Of ratios, given by their logarithms: the mean in percent above 1, with its interval of 95%.
 * There is one, at least. */
struct try_interval try_interval_percent(const double *log_ratios, size_t count);

/* Whether the two overlap, or are no more than `apart` away from each other. */
bool try_intervals_meet(const struct try_interval *a, const struct try_interval *b, double apart);

#endif
