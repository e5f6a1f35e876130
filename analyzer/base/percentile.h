/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order statistics of a list of nanoseconds.
 *
 * The p-th percentile of n values is the element at index n * p / 100 (integer division) of the
 * sorted list. Lists are reordered, not sorted; both functions take linear time on average.
 */
#ifndef WCPROF_PERCENTILE_H
#define WCPROF_PERCENTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct percentiles {
	uint64_t p50_ns;
	uint64_t p95_ns;
	uint64_t max_ns;
	uint64_t total_ns;
};

/* Element `rank` of the sorted list; all before it are not larger, all after it not smaller. */
uint64_t percentile_select(uint64_t *values_ns, size_t count, size_t rank);

/* All zero for an empty list. */
struct percentiles percentiles_of(uint64_t *values_ns, size_t count);

/* Values in order, of which some were cut off: those are larger than they are, nobody knows by how
 * much. */
struct percentile_list {
	size_t count;
	const uint32_t *times; /* of each value: so often it is there; NULL = once */
	const bool *is_cut;    /* NULL = none is */
};

/*
 * The rank of each percentile, `count` = it cannot be known. Percents are in order, 0 to below 100.
 * The weight of a value that was cut off is shared by those above it (Kaplan and Meier).
 */
void percentile_ranks(const struct percentile_list *list, const double *percents,
		      size_t percent_count, size_t *ranks);

#endif
