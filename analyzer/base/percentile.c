/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order statistics by quickselect with the median of three.
 *
 * Each round that does not halve the range uses up one of a budget of rounds. When the budget is
 * gone the rest is sorted, so that no input makes it quadratic. The values are moved about. Any
 * thread, each with its own.
 */
#include "percentile.h"

#include <assert.h>
#include <stdlib.h>

enum { ROUNDS_MAX = 96 };

static int compare_ns(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static uint64_t median_of_three(uint64_t a, uint64_t b, uint64_t c)
{
	if (a > b) {
		uint64_t swap = a;
		a = b;
		b = swap;
	}
	return c < a ? a : c > b ? b : c;
}

/*
 * Cuts [low, high] in two: returns `cut` with [low, cut] <= pivot <= [cut + 1, high] and cut <
 * high. As the pivot is a median, an element that is not smaller lies before `high`, so the second
 * part is never empty.
 */
static size_t partition(uint64_t *values_ns, size_t low, size_t high)
{
	uint64_t pivot =
		median_of_three(values_ns[low], values_ns[low + (high - low) / 2], values_ns[high]);
	size_t left = low, right = high;
	for (;;) {
		while (values_ns[left] < pivot)
			left++;
		while (values_ns[right] > pivot)
			right--;
		if (left >= right)
			return right < high ? right : high - 1;
		uint64_t swap = values_ns[left];
		values_ns[left++] = values_ns[right];
		values_ns[right--] = swap;
	}
}

uint64_t percentile_select(uint64_t *values_ns, size_t count, size_t rank)
{
	assert(rank < count);
	size_t low = 0, high = count - 1;
	for (int round = 0; low < high; round++) {
		if (round == ROUNDS_MAX) {
			qsort(values_ns + low, high - low + 1, sizeof(*values_ns), compare_ns);
			break;
		}
		size_t cut = partition(values_ns, low, high);
		if (rank <= cut)
			high = cut;
		else
			low = cut + 1;
	}
	return values_ns[rank];
}

struct percentiles percentiles_of(uint64_t *values_ns, size_t count)
{
	struct percentiles result = { 0 };
	for (size_t i = 0; i < count; i++) {
		result.total_ns += values_ns[i];
		result.max_ns = values_ns[i] > result.max_ns ? values_ns[i] : result.max_ns;
	}
	if (count == 0)
		return result;
	size_t middle = count / 2, high = count * 95 / 100;
	result.p50_ns = percentile_select(values_ns, count, middle);
	/* Values before the median are not larger: only the rest needs a look. */
	result.p95_ns = percentile_select(values_ns + middle, count - middle, high - middle);
	return result;
}

void percentile_ranks(const struct percentile_list *list, const double *percents,
		      size_t percent_count, size_t *ranks)
{
	double all = 0, left, ended = 0, weight = 1;
	size_t next = 0;
	for (size_t i = 0; i < list->count; i++)
		all += list->times ? list->times[i] : 1;
	left = all;
	for (size_t i = 0; i < list->count && next < percent_count; i++) {
		double times = list->times ? list->times[i] : 1;
		bool is_cut = list->is_cut && list->is_cut[i];
		left -= times;
		if (!is_cut)
			ended += weight * times;
		else if (left > 0)
			weight *= (left + times) / left;
		while (next < percent_count && !is_cut && times > 0 &&
		       ended * 100 > percents[next] * all)
			ranks[next++] = i;
	}
	while (next < percent_count)
		ranks[next++] = list->count;
}
