/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds limits of a rate; rates.h has the contract.
 *
 * Method. A limiter computes how long it is until the next call may be made, and sleeps for that.
 * So lengths of its sleeps are all different, as threads come when they come. But the times until
 * which they sleep, of all threads together, are one distance apart, or several. That is no chance
 * where nearly all are, while the lengths differ by more. Threads that sleep side by side for
 * constants have such times, too, but few lengths. A thread with a schedule of its own
 * (infer/deadlines.h) needs no limiter.
 *
 * One thread.
 */
#include "rates.h"

#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "deadlines.h"
#include "format.h"

enum {
	CANDIDATES = 32,
	GAP = 2, /* a limit that nobody waits for so many distances long is not reached */
};

struct sleep {
	uint64_t until_ns;
	uint64_t asked_ns;
	uint32_t class;
	uint32_t op;
};

static int compare_sleeps(const void *left, const void *right)
{
	const struct sleep *a = left, *b = right;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->until_ns != b->until_ns)
		return a->until_ns < b->until_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static int compare_ns(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

static struct sleep *sleeps_find(const struct recording *rec, const struct class_table *classes,
				 size_t *count)
{
	struct sleep *sleeps = memory_new(rec->op_count, sizeof(*sleeps));
	struct deadlines deadlines;

	deadlines_find(&deadlines, rec, classes);
	for (uint32_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];
		uint64_t asked_ns = op->kind == KIND_SLEEP ? rec->extras[i].amount : 0;

		if (asked_ns && !rec->extras[i].open && !deadlines.is_scheduled[i])
			sleeps[(*count)++] = (struct sleep){ op->start_ns + asked_ns, asked_ns,
							     classes->of_op[i], i };
	}
	if (*count)
		qsort(sleeps, *count, sizeof(*sleeps), compare_sleeps);
	deadlines_free(&deadlines);
	return sleeps;
}

/* Most of them ask for a length that was computed. Sets the usual length. */
static bool are_computed(const struct sleep *sleeps, size_t count, uint64_t *values,
			 uint64_t *median_ns)
{
	size_t distinct = 1;

	for (size_t i = 0; i < count; i++)
		values[i] = sleeps[i].asked_ns;
	qsort(values, count, sizeof(*values), compare_ns);
	for (size_t i = 1; i < count; i++)
		distinct += values[i] != values[i - 1];
	*median_ns = values[count / 2];
	return 2 * distinct >= count;
}

/* The lengths differ by more than the times are exact. */
static bool do_vary(const struct sleep *sleeps, size_t count, uint64_t median_ns, uint64_t error_ns)
{
	size_t usual = 0;

	for (size_t i = 0; i < count; i++)
		usual += sleeps[i].asked_ns + error_ns >= median_ns &&
			 sleeps[i].asked_ns <= median_ns + error_ns;
	return (double)usual <= assume.rate_usual * (double)count;
}

static uint64_t error_of(uint64_t distance_ns)
{
	return (uint64_t)(assume.rate_exact * (double)distance_ns);
}

/* Most of the times that are apart are so by a multiple of this. */
static bool is_distance(uint64_t distance_ns, const uint64_t *apart_ns, size_t count)
{
	uint64_t error_ns = error_of(distance_ns);
	size_t steps = 0, misfits = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t rest_ns = (apart_ns[i] + error_ns) % distance_ns;

		steps += apart_ns[i] > error_ns;
		misfits += apart_ns[i] > error_ns && rest_ns > 2 * error_ns;
	}
	return steps >= assume.rate_steps &&
	       (double)misfits <= (1 - assume.rate_fits) * (double)steps;
}

/* 0 = there is none. */
static uint64_t distance_of(const struct sleep *sleeps, size_t count, uint64_t *values)
{
	uint64_t median_ns;

	if (count <= assume.rate_steps || !are_computed(sleeps, count, values, &median_ns))
		return 0;
	for (size_t i = 0; i + 1 < count; i++)
		values[i] = sleeps[i + 1].until_ns - sleeps[i].until_ns;
	qsort(values, count - 1, sizeof(*values), compare_ns);
	for (size_t i = 0; i < CANDIDATES; i++) {
		uint64_t distance_ns = values[(count - 2) * i / (CANDIDATES - 1)];

		if (distance_ns >= assume.rate_apart &&
		    is_distance(distance_ns, values, count - 1) &&
		    do_vary(sleeps, count, median_ns, error_of(distance_ns)))
			return distance_ns;
	}
	return 0;
}

static uint64_t span_of(const struct sleep *sleeps, size_t count, uint64_t distance_ns)
{
	uint64_t span_ns = 0;

	for (size_t i = 0; i + 1 < count; i++) {
		uint64_t apart_ns = sleeps[i + 1].until_ns - sleeps[i].until_ns;

		span_ns += apart_ns <= GAP * distance_ns + error_of(distance_ns) ? apart_ns : 0;
	}
	return span_ns;
}

bool rates_find(struct rate *rate, const struct recording *recording,
		const struct class_table *classes)
{
	size_t count = 0;

	*rate = (struct rate){ 0 };
	if (!recording->extras)
		return false;
	struct sleep *sleeps = sleeps_find(recording, classes, &count);
	uint64_t *values = memory_new(count, sizeof(*values));

	for (size_t first = 0, end; first < count; first = end) {
		for (end = first; end < count && sleeps[end].class == sleeps[first].class;)
			end++;
		uint64_t distance_ns = distance_of(sleeps + first, end - first, values);
		uint64_t span_ns =
			distance_ns ? span_of(sleeps + first, end - first, distance_ns) : 0;

		if (span_ns > rate->span_ns)
			*rate = (struct rate){ distance_ns, span_ns, sleeps[first].op };
	}
	free(values);
	free(sleeps);
	return rate->span_ns > 0;
}
