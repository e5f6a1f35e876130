/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of slow requests and calls, by stack; top_contrast.h has the contract.
 *
 * Requests are added up when they end. Calls are looked at when they are asked for: each one's
 * pieces are those that its thread had between its begin and its end.
 */
#include "top_contrast.h"

#include <stdlib.h>

static struct top_contrast begin(const struct top_sums *sums)
{
	return (struct top_contrast){
		.stack_ns = calloc(sums->stacks.count + 1, sizeof(double[TOP_SHARES])),
	};
}

void top_contrast_free(struct top_contrast *contrast)
{
	free(contrast->stack_ns);
	*contrast = (struct top_contrast){ .stack_ns = NULL };
}

double top_contrast_mean_ns(const struct top_contrast *contrast, enum top_share share)
{
	return contrast->count[share] > 0 ? contrast->taken_ns[share] / contrast->count[share] : 0;
}

double top_contrast_stack_ns(const struct top_contrast *contrast, size_t stack,
			     enum top_share share)
{
	return contrast->stack_ns && contrast->count[share] > 0
		       ? contrast->stack_ns[stack][share] / contrast->count[share]
		       : 0;
}

struct top_contrast top_contrast_requests(const struct top_sums *sums, struct top_view view)
{
	struct top_contrast contrast = begin(sums);

	for (enum top_share share = 0; share < TOP_SHARES; share++) {
		contrast.count[share] = top_weighted(sums, sums->requests.by_second[share], view);
		contrast.taken_ns[share] = top_weighted(sums, sums->requests.taken_ns[share], view);
		for (size_t i = 0; contrast.stack_ns && i < sums->stacks.count; i++)
			contrast.stack_ns[i][share] =
				top_stack_ns(sums, &sums->stacks.stacks[i], share, view);
	}
	return contrast;
}

/*
 * A sample that was taken in a call which was recorded, as in the kernel, is a part of that call's
 * time. Pieces come backwards, so that call has been seen before.
 */
static void add_call(struct top_contrast *contrast, const struct top_sums *sums,
		     const struct top_call *call, enum top_share share)
{
	uint64_t begin_ns = call->end_ns - call->taken_ns;
	uint64_t blocked_from_ns = UINT64_MAX;
	const struct top_piece *piece;

	contrast->count[share]++;
	contrast->taken_ns[share] += (double)call->taken_ns;
	for (uint64_t at = call->last_piece; (piece = top_pieces_find(&sums->pieces, at, begin_ns));
	     at = piece->before) {
		bool is_blocked = sums->stacks.stacks[piece->stack - 1].activity < TOP_PARTS;

		if (!is_blocked && piece->end_ns > blocked_from_ns)
			continue;
		if (is_blocked)
			blocked_from_ns = piece->end_ns - (uint64_t)piece->ns;
		if (contrast->stack_ns)
			contrast->stack_ns[piece->stack - 1][share] += (double)piece->ns;
	}
}

struct top_contrast top_contrast_calls(const struct top_sums *sums, uint32_t name,
				       uint64_t since_ns)
{
	struct top_contrast contrast = begin(sums);
	size_t count, kept = 0;
	struct top_call *calls = top_calls_outermost(&sums->calls, name, since_ns, &count);
	uint64_t slow_ns;

	for (size_t i = 0; i < count; i++)
		if (calls[i].end_ns - calls[i].taken_ns >= sums->pieces.since_ns)
			calls[kept++] = calls[i];
	slow_ns = kept < TOP_ENOUGH ? UINT64_MAX : top_calls_p95_ns(calls, kept);
	for (size_t i = 0; i < kept; i++) {
		add_call(&contrast, sums, &calls[i], TOP_OF_ALL);
		add_call(&contrast, sums, &calls[i],
			 calls[i].taken_ns > slow_ns ? TOP_OF_SLOW : TOP_OF_REST);
	}
	free(calls);
	return contrast;
}
