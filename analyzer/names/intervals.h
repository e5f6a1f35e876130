/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nested address ranges and what contains an address: functions, inlined copies, data objects.
 *
 * Filled once, then ordered once by intervals_index(), then only searched. A range that starts
 * where another does and is not longer counts as the inner one; of two equal ranges the one added
 * later does.
 */
#ifndef WCPROF_INTERVALS_H
#define WCPROF_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

struct interval {
	uint64_t start;
	uint64_t end;   /* first address behind it */
	uint32_t value; /* the caller's */
	uint32_t outer; /* index of the nearest earlier range that reaches over start, NO_INDEX =
			   none */
};

struct intervals {
	struct interval *rows;
	size_t count;
	size_t room;
};

/* Empty ranges are left out. */
void intervals_add(struct intervals *intervals, uint64_t start, uint64_t end, uint32_t value);

/* Orders and nests. Call once after the last intervals_add(). */
void intervals_index(struct intervals *intervals);

/* The innermost range that contains `address`: its index, or NO_INDEX. */
uint32_t intervals_find(const struct intervals *intervals, uint64_t address);

/* The next range outwards from `row` that contains `address` too, or NO_INDEX. */
uint32_t intervals_outer(const struct intervals *intervals, uint32_t row, uint64_t address);

void intervals_free(struct intervals *intervals);

#endif
