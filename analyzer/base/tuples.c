/* SPDX-License-Identifier: Apache-2.0 */
/* Tuples in an open hash table; tuples.h has the contract. */
#include "tuples.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { BUCKETS_FIRST = 64 };

void tuples_begin(struct tuples *tuples, size_t width)
{
	*tuples = (struct tuples){
		.width = width,
		.buckets = memory_new(BUCKETS_FIRST, sizeof(uint32_t)),
		.bucket_count = BUCKETS_FIRST,
	};
}

void tuples_free(struct tuples *tuples)
{
	free(tuples->words);
	free(tuples->buckets);
	*tuples = (struct tuples){ 0 };
}

/* The bucket that has the tuple, or the free one where it goes. */
static uint32_t *bucket_of(const struct tuples *tuples, const uint32_t *words)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < tuples->width; i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
	for (size_t at = (size_t)(hash >> 32);; at++) {
		uint32_t *bucket = &tuples->buckets[at & (tuples->bucket_count - 1)];
		if (*bucket == 0 || memcmp(tuples_at(tuples, *bucket - 1), words,
					   tuples->width * sizeof(*words)) == 0)
			return bucket;
	}
}

static void grow(struct tuples *tuples)
{
	free(tuples->buckets);
	tuples->bucket_count *= 2;
	tuples->buckets = memory_new(tuples->bucket_count, sizeof(*tuples->buckets));
	for (uint32_t i = 0; i < tuples->count; i++)
		*bucket_of(tuples, tuples_at(tuples, i)) = i + 1;
}

uint32_t tuples_add(struct tuples *tuples, const uint32_t *words)
{
	uint32_t *bucket = bucket_of(tuples, words);
	if (*bucket)
		return *bucket - 1;
	tuples->words = memory_grow(tuples->words, &tuples->room,
				    (tuples->count + 1) * tuples->width, sizeof(*tuples->words));
	memcpy(tuples->words + tuples->count * tuples->width, words,
	       tuples->width * sizeof(*words));
	*bucket = ++tuples->count;
	if (2 * (size_t)tuples->count >= tuples->bucket_count)
		grow(tuples);
	return tuples->count - 1;
}
