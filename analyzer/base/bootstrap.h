/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intervals of statistics of a sample by the bootstrap: how much would they vary, had other units
 * of the same sort been seen?
 *
 * A unit is what was seen one by one, as a request. The sample is drawn anew from itself many
 * times. Neighbours are drawn together, in blocks of the cube root of their number: what one slow
 * moment does to several requests happened once. The same input always has the same intervals.
 *
 * Time: draws times units, at most BOOTSTRAP_UNITS_MAX unless that were fewer than
 * BOOTSTRAP_DRAWS_LEAST draws. Any thread, if the statistic is.
 */
#ifndef WCPROF_BOOTSTRAP_H
#define WCPROF_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BOOTSTRAP_DRAWS = 999,
	BOOTSTRAP_DRAWS_LEAST = 199,
	BOOTSTRAP_UNITS_MAX = 100000000,
	BOOTSTRAP_GROUPS_MAX = 2
};

/* Holds the truth in 95 of 100 cases, about. */
struct bootstrap_interval {
	double value; /* of the sample itself */
	double least; /* at most the value */
	double most;  /* at least the value */
};

struct bootstrap {
	/* Units of each group, in order of time; at least one each. Groups are drawn apart. */
	size_t unit_counts[BOOTSTRAP_GROUPS_MAX];
	size_t group_count;
	/* Units that the statistics rest on, as those of a tail; few make intervals wider. 0 = the
	 * units of the smallest group. */
	size_t few;
	size_t result_count;
	/*
	 * Puts the statistics, all finite, of a sample that has unit i of group g times[g][i]
	 * times. The sum of a group's times is its number of units.
	 */
	void (*statistic)(void *context, const uint32_t *const *times, double *results);
	void *context;
};

/* `intervals` has room for `result_count`. */
void bootstrap_run(const struct bootstrap *bootstrap, struct bootstrap_interval *intervals);

/* The interval does not hold 0. */
bool bootstrap_is_told(const struct bootstrap_interval *interval);

#endif
