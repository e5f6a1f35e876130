/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long calls of one probed function took: a histogram that says which length a share of them
 * stays below.
 *
 * Buckets are sixteenths of a power of two, as in Tene's HdrHistogram, and linear within. Recent
 * calls count most: all counts are halved from time to time. Integers only, no vector registers.
 * Several threads count without waiting for each other: a count more or less is lost, which moves
 * the estimate by nothing that matters.
 */
#ifndef WCPROF_PROBE_LENGTHS_H
#define WCPROF_PROBE_LENGTHS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

enum {
	LENGTHS_SUB_BITS = 4,
	LENGTHS_SUBS = 1 << LENGTHS_SUB_BITS,
	LENGTHS_BUCKETS = (64 - LENGTHS_SUB_BITS + 1) * LENGTHS_SUBS,
	LENGTHS_LEAST = 64,     /* calls, before there is an estimate */
	LENGTHS_MOST = 1 << 16, /* then all counts are halved */
	LENGTHS_PERMILLE = 1000
};

struct probe_lengths {
	uint32_t total;
	uint32_t counts[LENGTHS_BUCKETS];
};

/* One more call. Whether it is time for probe_lengths_at(). */
bool probe_lengths_add(struct probe_lengths *, uint64_t ticks) HIDDEN;
/* The length that `permille` thousandths of the calls stay below; 0: too few calls are known. */
uint64_t probe_lengths_at(struct probe_lengths *, uint32_t permille) HIDDEN;

#endif
