/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signed ranks; signedrank.h has the contract.
 *
 * Differences of 0 say nothing, and have no rank. Ranks of ties are their mean, so all ranks are
 * doubled to be whole. The number of ways to each sum of ranks grows by one difference at a time.
 */
#include "signedrank.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double OUTSIDE = 0.05; /* on either side of the interval */

static int compare_sizes(const void *left, const void *right)
{
	double a = fabs(*(const double *)left), b = fabs(*(const double *)right);

	return (a > b) - (a < b);
}

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* The chance of each sum of these ranks over all signs; the caller frees it. */
static double *distribution(const size_t *ranks, size_t count, size_t *most)
{
	size_t sum = 0;
	double *chances;

	for (size_t i = 0; i < count; i++)
		sum += ranks[i];
	chances = calloc(sum + 1, sizeof(*chances));
	*most = sum;
	if (!chances)
		return NULL;
	chances[0] = 1;
	for (size_t i = 0, reached = 0; i < count; i++) {
		reached += ranks[i];
		for (size_t at = reached + 1; at-- > 0;) {
			double plus = at >= ranks[i] ? chances[at - ranks[i]] : 0;

			chances[at] = (chances[at] + plus) / 2;
		}
	}
	return chances;
}

/* Doubled, of differences in order of their size. */
static void rank(const double *sorted, size_t count, size_t *ranks)
{
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && fabs(sorted[to]) == fabs(sorted[from]); to++)
			continue;
		for (size_t i = from; i < to; i++)
			ranks[i] = from + 1 + to;
	}
}

/* -1: no memory. */
static double chance_of(const double *sorted, size_t count)
{
	size_t ranks[SIGNED_RANK_PAIRS_MAX], sum = 0, most;
	double p = 0, *chances;

	if (count == 0)
		return 1;
	rank(sorted, count, ranks);
	for (size_t i = 0; i < count; i++)
		sum += sorted[i] > 0 ? ranks[i] : 0;
	chances = distribution(ranks, count, &most);
	if (!chances)
		return -1;
	for (size_t at = sum; at <= most; at++)
		p += chances[at];
	free(chances);
	return fmin(p, 1);
}

/* How many means of two pairs lie outside of the interval on either side, at most. */
static bool count_outside(size_t count, size_t *outside)
{
	size_t ranks[SIGNED_RANK_PAIRS_MAX], most;
	double below = 0, *chances;

	for (size_t i = 0; i < count; i++)
		ranks[i] = i + 1;
	chances = distribution(ranks, count, &most);
	if (!chances)
		return false;
	*outside = 0;
	while (below + chances[*outside] <= OUTSIDE)
		below += chances[(*outside)++];
	free(chances);
	return true;
}

static bool find_interval(const double *differences, size_t count, struct signed_rank *result)
{
	size_t means = count * (count + 1) / 2, used = 0, outside;
	double *sorted = malloc(means * sizeof(*sorted));

	if (!sorted || !count_outside(count, &outside)) {
		free(sorted);
		return false;
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = i; k < count; k++)
			sorted[used++] = (differences[i] + differences[k]) / 2;
	qsort(sorted, means, sizeof(*sorted), compare_values);
	result->change = (sorted[(means - 1) / 2] + sorted[means / 2]) / 2;
	result->has_interval = outside > 0;
	outside = outside > 0 ? outside - 1 : 0;
	result->low = sorted[outside];
	result->high = sorted[means - 1 - outside];
	free(sorted);
	return true;
}

bool signed_rank_test(const double *differences, size_t count, struct signed_rank *result)
{
	double sorted[SIGNED_RANK_PAIRS_MAX];
	size_t used = 0;

	assert(count > 0 && count <= SIGNED_RANK_PAIRS_MAX);
	for (size_t i = 0; i < count; i++)
		if (differences[i] != 0)
			sorted[used++] = differences[i];
	qsort(sorted, used, sizeof(*sorted), compare_sizes);
	result->p = chance_of(sorted, used);
	return result->p >= 0 && find_interval(differences, count, result);
}
