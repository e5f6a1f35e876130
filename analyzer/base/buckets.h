/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Things dealt out by a number that each has, so that those of one number are found without a walk
 * over all.
 *
 * Built once, read-only afterwards. One thread builds it, any may read.
 */
#ifndef WCPROF_BUCKETS_H
#define WCPROF_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

struct buckets {
	uint32_t *items; /* bucket by bucket, each in ascending order */
	size_t *first;   /* bucket b has items [first[b], first[b + 1]) */
};

/* Item i goes into bucket_of(context, i), which is below `bucket_count`, or NO_INDEX for none. */
void buckets_build(struct buckets *, size_t bucket_count, size_t item_count,
		   uint32_t (*bucket_of)(const void *context, size_t item), const void *context);
void buckets_free(struct buckets *);

static inline const uint32_t *buckets_of(const struct buckets *buckets, size_t bucket,
					 size_t *count)
{
	*count = buckets->first[bucket + 1] - buckets->first[bucket];
	return buckets->items + buckets->first[bucket];
}

#endif
