/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The self-consistent estimate of a distribution (Turnbull 1976); censored.h has the contract.
 *
 * Method. A known value is a place for weight. So is an innermost interval: from a lower bound to
 * the next upper one, with no bound or known value between. Weight there may be anywhere in it, and
 * is taken to be at its end. A value with bounds counts in parts for the places between these, by
 * their weights. All parts of a place, and the known value there, add up to its next weight. After
 * some rounds the weights change no more.
 *
 * Sums over all weights before each place make a round linear. One thread.
 */
#include "censored.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { ROUNDS = 50 };

static const double HALF = 0.5 + 1e-9; /* sums of weights are not exact */

/* Of places: from the first on, up to the end. */
struct range {
	size_t first;
	size_t end;
};

struct place {
	uint64_t value;
	double own; /* 1 = a known value, 0 = none */
};

struct estimate {
	struct place *places; /* in order */
	size_t place_count;
	double *weights;
	double *sums;  /* of all weights before each, and of all */
	double *parts; /* each less the one before */
	struct range *ranges;
	size_t range_count;
	size_t value_count;
};

/* Of a value's bounds; both are the same if it is known. */
struct bound {
	uint64_t value;
	bool is_upper;
	bool is_known;
};

static int compare_bounds(const void *left, const void *right)
{
	const struct bound *a = left, *b = right;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (int)a->is_upper - (int)b->is_upper;
}

static void places_find(struct estimate *made, const struct censored *values, size_t count)
{
	struct bound *bounds = memory_new(2 * count, sizeof(*bounds));

	for (size_t i = 0; i < count; i++) {
		bool is_known = values[i].least == values[i].most;

		bounds[2 * i] = (struct bound){ values[i].least, false, is_known };
		bounds[2 * i + 1] = (struct bound){ values[i].most, true, is_known };
	}
	if (count)
		qsort(bounds, 2 * count, sizeof(*bounds), compare_bounds);
	for (size_t i = 1; i < 2 * count; i++) {
		const struct bound *bound = &bounds[i];
		bool is_innermost = bound->is_upper && !bounds[i - 1].is_upper;

		if (bound->is_upper && (bound->is_known || is_innermost))
			made->places[made->place_count++] =
				(struct place){ bound->value, bound->is_known };
	}
	free(bounds);
}

/* The first one that is not below. */
static size_t place_of(const struct place *places, size_t count, uint64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places[middle].value < value)
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
		made->ranges[made->range_count++] =
			(struct range){ place_of(made->places, made->place_count, value->least),
					place_of(made->places, made->place_count,
						 value->most + 1) };
	}
}

static void weigh(struct estimate *made)
{
	size_t count = made->place_count;
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
		made->weights[i] = (made->places[i].own + made->weights[i] * parts) /
				   (double)made->value_count;
	}
}

static uint64_t median_of(const struct estimate *made)
{
	double sum = 0;
	size_t i = 0;

	for (; i + 1 < made->place_count; i++) {
		sum += made->weights[i];
		if (sum > HALF)
			break;
	}
	return made->places[i].value;
}

uint64_t censored_median(const struct censored *values, size_t count)
{
	struct estimate made = { .places = memory_new(count, sizeof(*made.places)),
				 .weights = memory_new(count, sizeof(*made.weights)),
				 .sums = memory_new(count + 1, sizeof(*made.sums)),
				 .parts = memory_new(count + 1, sizeof(*made.parts)),
				 .ranges = memory_new(count, sizeof(*made.ranges)),
				 .value_count = count };
	uint64_t median = 0;

	places_find(&made, values, count);
	if (made.place_count) {
		for (size_t i = 0; i < made.place_count; i++)
			made.weights[i] = 1 / (double)made.place_count;
		ranges_find(&made, values, count);
		for (int round = 0; round < ROUNDS && made.range_count; round++)
			weigh(&made);
		median = median_of(&made);
	}
	free(made.places);
	free(made.weights);
	free(made.sums);
	free(made.parts);
	free(made.ranges);
	return median;
}
