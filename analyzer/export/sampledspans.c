/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts samples inside of spans; sampledspans.h has the contract.
 */
#include "sampledspans.h"

#include <stdlib.h>

#include "base/memory.h"

static void add(struct sampled_spans *sampled, uint32_t group, uint32_t stack,
		const struct slow_time *at)
{
	const uint32_t key[] = { group, stack };
	uint32_t known = sampled->numbers.count, index = tuples_add(&sampled->numbers, key);
	sampled->counts = memory_grow(sampled->counts, &sampled->room, (size_t)index + 1,
				      sizeof(*sampled->counts));
	if (index == known)
		sampled->counts[index] = (struct slow_time){ 0 };
	sampled->counts[index].slow_ns += at->slow_ns;
	sampled->counts[index].other_ns += at->other_ns;
}

void sampled_spans_build(struct sampled_spans *sampled, const struct recording *recording,
			 const struct slow_spans *spans, const uint32_t *group_of,
			 const uint32_t *stack_of)
{
	*sampled = (struct sampled_spans){ .room = 0 };
	tuples_begin(&sampled->numbers, 2);
	for (size_t i = 0; i < recording->sample_count; i++) {
		const struct rec_sample *sample = &recording->samples[i];
		const struct walk_slice moment = { .thread = sample->thread,
						   .start_ns = sample->at_ns,
						   .end_ns = sample->at_ns + 1 };
		struct slow_time at = { 0 };
		slow_spans_add(spans, &moment, &at);
		if (!sample->stack || !(at.slow_ns || at.other_ns))
			continue;
		add(sampled, group_of[sample->thread], stack_of[sample->stack], &at);
	}
}

void sampled_spans_free(struct sampled_spans *sampled)
{
	tuples_free(&sampled->numbers);
	free(sampled->counts);
	*sampled = (struct sampled_spans){ 0 };
}

static uint64_t part(uint64_t ns, uint64_t count, uint64_t of)
{
	return of ? (uint64_t)((double)ns * (double)count / (double)of + 0.5) : 0;
}

struct sampled_share *sampled_spans_share(const struct sampled_spans *sampled, uint32_t group,
					  struct slow_time *whole, size_t *count)
{
	struct sampled_share *shares = memory_new(sampled->numbers.count, sizeof(*shares));
	struct slow_time all = { 0 };
	*count = 0;
	for (uint32_t i = 0; i < sampled->numbers.count; i++) {
		const uint32_t *key = tuples_at(&sampled->numbers, i);
		if (key[0] != group)
			continue;
		shares[(*count)++] = (struct sampled_share){ key[1], sampled->counts[i] };
		all.slow_ns += sampled->counts[i].slow_ns;
		all.other_ns += sampled->counts[i].other_ns;
	}
	for (size_t i = 0; i < *count; i++) {
		struct slow_time *inside = &shares[i].inside;
		inside->slow_ns = part(whole->slow_ns, inside->slow_ns, all.slow_ns);
		inside->other_ns = part(whole->other_ns, inside->other_ns, all.other_ns);
	}
	whole->slow_ns = all.slow_ns ? 0 : whole->slow_ns;
	whole->other_ns = all.other_ns ? 0 : whole->other_ns;
	return shares;
}
