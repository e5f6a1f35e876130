/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items by bucket: a counting sort in two walks.
 *
 * The first walk counts each bucket's items, the second deals them out in their own order. Memory:
 * one number for each item and for each bucket. Any thread, each with its own.
 */
#include "buckets.h"

#include "memory.h"

#include <assert.h>
#include <stdlib.h>

void buckets_build(struct buckets *buckets, size_t bucket_count, size_t item_count,
		   uint32_t (*bucket_of)(const void *context, size_t item), const void *context)
{
	/* first[b + 1] is where bucket b's next goes, and so its end when all are dealt out */
	size_t *first = memory_new(bucket_count + 2, sizeof(*first));

	for (size_t i = 0; i < item_count; i++) {
		uint32_t bucket = bucket_of(context, i);

		assert(bucket == NO_INDEX || bucket < bucket_count);
		if (bucket != NO_INDEX)
			first[bucket + 2]++;
	}
	for (size_t b = 0; b < bucket_count; b++)
		first[b + 2] += first[b + 1];
	buckets->items = memory_new(first[bucket_count + 1], sizeof(*buckets->items));
	buckets->first = first;
	for (size_t i = 0; i < item_count; i++) {
		uint32_t bucket = bucket_of(context, i);

		if (bucket != NO_INDEX)
			buckets->items[first[bucket + 1]++] = (uint32_t)i;
	}
}

void buckets_free(struct buckets *buckets)
{
	free(buckets->items);
	free(buckets->first);
	*buckets = (struct buckets){ 0 };
}
