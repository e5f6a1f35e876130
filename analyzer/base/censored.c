/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The self-consistent estimate of a distribution (Turnbull 1976); censored.h has the contract.
 *
 * Method. All values are taken to be among the known ones, each of which has a weight. A value with
 * bounds counts in parts for the known ones between these, by their weights. All parts of a known
 * one add up to its next weight. After some rounds the weights change no more. A value with no
 * known one between its bounds says nothing.
 *
 * Sums over all weights before each known value make a round linear. One thread.
 */
#include "censored.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { ROUNDS = 50 };

static const double HALF = 0.5 + 1e-9; /* sums of weights are not exact */

/* Of known values: from the first on, up to the end. */
struct range {
	size_t first;
	size_t end;
};

struct estimate {
	uint64_t *known; /* in order */
	size_t known_count;
	double *weights;
	double *sums;  /* of all weights before each, and of all */
	double *parts; /* each less the one before */
	struct range *ranges;
	size_t range_count;
};

static int compare_values(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The first one that is not below. */
static size_t place_of(const uint64_t *known, size_t count, uint64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (known[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void ranges_find(struct estimate *made, const struct censored *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct censored *value = &values[i];

		assert(value->least <= value->most);
		if (value->least == value->most)
			continue;
		struct range range = { place_of(made->known, made->known_count, value->least),
				       place_of(made->known, made->known_count, value->most + 1) };

		if (range.first < range.end)
			made->ranges[made->range_count++] = range;
	}
}

static void weigh(struct estimate *made)
{
	size_t count = made->known_count;
	double parts = 0;

	for (size_t i = 0; i < count; i++)
		made->sums[i + 1] = made->sums[i] + made->weights[i];
	memset(made->parts, 0, (count + 1) * sizeof(*made->parts));
	for (size_t i = 0; i < made->range_count; i++) {
		const struct range *range = &made->ranges[i];
		double sum = made->sums[range->end] - made->sums[range->first];

		if (!(sum > 0))
			continue;
		made->parts[range->first] += 1 / sum;
		made->parts[range->end] -= 1 / sum;
	}
	for (size_t i = 0; i < count; i++) {
		parts += made->parts[i];
		made->weights[i] =
			(1 + made->weights[i] * parts) / (double)(count + made->range_count);
	}
}

static uint64_t median_of(const struct estimate *made)
{
	double sum = 0;
	size_t i = 0;

	for (; i + 1 < made->known_count; i++) {
		sum += made->weights[i];
		if (sum > HALF)
			break;
	}
	return made->known[i];
}

uint64_t censored_median(const struct censored *values, size_t count)
{
	struct estimate made = { .known = memory_new(count, sizeof(*made.known)),
				 .weights = memory_new(count, sizeof(*made.weights)),
				 .sums = memory_new(count + 1, sizeof(*made.sums)),
				 .parts = memory_new(count + 1, sizeof(*made.parts)),
				 .ranges = memory_new(count, sizeof(*made.ranges)) };
	uint64_t median = 0;

	for (size_t i = 0; i < count; i++)
		if (values[i].least == values[i].most)
			made.known[made.known_count++] = values[i].least;
	if (made.known_count) {
		qsort(made.known, made.known_count, sizeof(*made.known), compare_values);
		for (size_t i = 0; i < made.known_count; i++)
			made.weights[i] = 1 / (double)made.known_count;
		ranges_find(&made, values, count);
		for (int round = 0; round < ROUNDS && made.range_count; round++)
			weigh(&made);
		median = median_of(&made);
	}
	free(made.known);
	free(made.weights);
	free(made.sums);
	free(made.parts);
	free(made.ranges);
	return median;
}
