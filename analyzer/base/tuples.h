/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers tuples of numbers: equal ones have one index, in order of first sight.
 *
 * One thread.
 */
#ifndef WCPROF_TUPLES_H
#define WCPROF_TUPLES_H

#include <stddef.h>
#include <stdint.h>

struct tuples {
	size_t width;    /* numbers in each */
	uint32_t *words; /* tuple i is words[i * width] and the next ones */
	uint32_t count;
	size_t room;
	uint32_t *buckets;   /* open addressing; index + 1, 0 = free */
	size_t bucket_count; /* a power of two, at least twice `count` */
};

void tuples_begin(struct tuples *tuples, size_t width);
void tuples_free(struct tuples *tuples);

/* The index of the tuple at `words`, which is added when it is new. */
uint32_t tuples_add(struct tuples *tuples, const uint32_t *words);

static inline const uint32_t *tuples_at(const struct tuples *tuples, uint32_t index)
{
	return tuples->words + index * tuples->width;
}

#endif
