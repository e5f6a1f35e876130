/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths of calls. See probe_lengths.h. */
#include "probe_lengths.h"

#include "atomics.h"

#include "in_target.h"

enum { LOOKS_WHILE_FEW = 64, LOOKS = 1024 /* calls from one look at all counts to the next */ };

static uint32_t bucket_of(uint64_t ticks)
{
	uint32_t shift;

	if (ticks < LENGTHS_SUBS)
		return (uint32_t)ticks;
	shift = 63 - LENGTHS_SUB_BITS - (uint32_t)__builtin_clzll(ticks);
	return (shift + 1) * LENGTHS_SUBS + (uint32_t)(ticks >> shift) % LENGTHS_SUBS;
}

static uint32_t shift_of(uint32_t bucket)
{
	return bucket < LENGTHS_SUBS ? 0 : bucket / LENGTHS_SUBS - 1;
}

static uint64_t lowest_of(uint32_t bucket)
{
	if (bucket < LENGTHS_SUBS)
		return bucket;
	return (uint64_t)(LENGTHS_SUBS + bucket % LENGTHS_SUBS) << shift_of(bucket);
}

bool probe_lengths_add(struct probe_lengths *lengths, uint64_t ticks)
{
	uint32_t *count = &lengths->counts[bucket_of(ticks)];
	uint32_t total = load_relaxed(&lengths->total) + 1;

	store_relaxed(count, load_relaxed(count) + 1);
	store_relaxed(&lengths->total, total);
	return total % (total < LOOKS ? LOOKS_WHILE_FEW : LOOKS) == 0;
}

static uint32_t sum_of(struct probe_lengths *lengths)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < LENGTHS_BUCKETS; i++)
		sum += load_relaxed(&lengths->counts[i]);
	return sum;
}

static void halve(struct probe_lengths *lengths)
{
	for (uint32_t i = 0; i < LENGTHS_BUCKETS; i++)
		store_relaxed(&lengths->counts[i], load_relaxed(&lengths->counts[i]) / 2);
	store_relaxed(&lengths->total, load_relaxed(&lengths->total) / 2);
}

/* From the longest ones downwards, until so many are longer. */
uint64_t probe_lengths_at(struct probe_lengths *lengths, uint32_t permille)
{
	uint32_t sum = sum_of(lengths), bucket = LENGTHS_BUCKETS, count = 0;
	uint64_t longer = (uint64_t)sum * (LENGTHS_PERMILLE - permille) / LENGTHS_PERMILLE;
	uint64_t seen = 0, width;

	if (sum < LENGTHS_LEAST)
		return 0;
	longer = longer ? longer : 1;
	while (bucket > 0 && seen < longer) {
		count = load_relaxed(&lengths->counts[--bucket]);
		seen += count;
	}
	width = UINT64_C(1) << shift_of(bucket);
	if (sum >= LENGTHS_MOST)
		halve(lengths);
	if (seen < longer || count == 0)
		return lowest_of(bucket);
	return lowest_of(bucket) + (uint64_t)((unsigned __int128)width * (seen - longer) / count);
}
