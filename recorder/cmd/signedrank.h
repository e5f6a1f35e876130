/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether differences of pairs lie above 0, by how much, and whether that is chance: Wilcoxon's
 * signed ranks.
 *
 * If nothing differs, each difference could as well have the other sign. The test is exact: it has
 * the distribution of the sum of ranks over all 2^n signs, ties included. An outlier counts as one
 * pair, however far it is off. Pure functions.
 */
#ifndef WCPROF_SIGNEDRANK_H
#define WCPROF_SIGNEDRANK_H

#include <stdbool.h>
#include <stddef.h>

enum {
	SIGNED_RANK_PAIRS_MAX = 200, /* the sums of ranks are doubled, and quadratic in it */
	SIGNED_RANK_PAIRS_LEAST = 5  /* fewer have no result that is rarer than 1 in 20 */
};

struct signed_rank {
	double p;      /* of so much above 0, or more, by chance; 1 = no pair differs */
	double change; /* the median of the means of all two pairs (Hodges and Lehmann) */
	/* It is above `low`, and below `high`, 19 times of 20 each. Without an interval, of fewer
	 * pairs than that, they are the extremes. */
	double low;
	double high;
	bool has_interval;
};

/* One difference at least. False: no memory. */
bool signed_rank_test(const double *differences, size_t count, struct signed_rank *result);

#endif
