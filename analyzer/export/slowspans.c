/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds slow requests and calls; slowspans.h has the contract.
 *
 * The percentile is that of the lengths. Then the spans are sorted by thread and begin. No span is
 * longer than the longest: so those that a slice may lie in begin at most that much before it.
 */
#include "slowspans.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "base/bound.h"
#include "base/memory.h"
#include "format.h"

static int compare_lengths(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

/* Of two that begin together the longer one is around the other. */
static int compare_places(const void *a, const void *b)
{
	const struct slow_span *left = a, *right = b;
	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return (left->end_ns < right->end_ns) - (left->end_ns > right->end_ns);
}

static uint64_t percentile_of(const struct slow_spans *spans, double percent)
{
	uint64_t *lengths = memory_new(spans->count, sizeof(*lengths));
	size_t rank = (size_t)((double)spans->count * percent / 100), count = 0;
	for (size_t i = 0; i < spans->span_count; i++)
		if (!spans->spans[i].is_second)
			lengths[count++] = spans->spans[i].taken_ns;
	qsort(lengths, count, sizeof(*lengths), compare_lengths);
	uint64_t slow_ns = lengths[rank < count ? rank : count - 1];
	free(lengths);
	return slow_ns;
}

static void settle(struct slow_spans *spans, double percent)
{
	for (size_t i = 0; i < spans->span_count; i++)
		spans->count += !spans->spans[i].is_second;
	if (spans->count == 0)
		return;
	spans->slow_from_ns = percentile_of(spans, percent);
	for (size_t i = 0; i < spans->span_count; i++) {
		struct slow_span *span = &spans->spans[i];
		uint64_t length_ns = span->end_ns - span->start_ns;
		span->is_slow = span->taken_ns >= spans->slow_from_ns;
		spans->slow_count += span->is_slow && !span->is_second;
		spans->longest_ns = length_ns > spans->longest_ns ? length_ns : spans->longest_ns;
	}
	qsort(spans->spans, spans->span_count, sizeof(*spans->spans), compare_places);
}

static void add_request(struct slow_spans *spans, const struct request *request, uint64_t taken_ns,
			bool is_second)
{
	if (request->thread != NO_INDEX && request->end_ns > request->start_ns)
		spans->spans[spans->span_count++] =
			(struct slow_span){ .start_ns = request->start_ns,
					    .end_ns = request->end_ns,
					    .taken_ns = taken_ns,
					    .thread = request->thread,
					    .is_second = is_second };
}

void slow_spans_of_requests(struct slow_spans *spans, const struct requests *requests,
			    double percent)
{
	*spans = (struct slow_spans){ .spans = memory_new(2 * requests->count,
							  sizeof(*spans->spans)) };
	for (size_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->requests[i];
		if (!request_is_judged(requests, request) || request->thread == NO_INDEX)
			continue;
		add_request(spans, request, request->taken_ns, false);
		if (request->of != NO_INDEX)
			add_request(spans, &requests->requests[request->of], request->taken_ns,
				    true);
	}
	settle(spans, percent);
}

/* In place; they are in order of threads and begin. */
static void drop_nested(struct slow_spans *spans)
{
	size_t kept = 0;
	for (size_t i = 0; i < spans->span_count; i++) {
		const struct slow_span *around = kept ? &spans->spans[kept - 1] : NULL;
		if (!around || around->thread != spans->spans[i].thread ||
		    around->end_ns < spans->spans[i].end_ns)
			spans->spans[kept++] = spans->spans[i];
	}
	spans->span_count = kept;
}

void slow_spans_of_class(struct slow_spans *spans, const struct recording *recording,
			 const struct class_table *classes, const char *pattern, double percent)
{
	bool *is_wanted = memory_new(classes->count, sizeof(*is_wanted));
	*spans = (struct slow_spans){ .spans = memory_new(recording->op_count,
							  sizeof(*spans->spans)) };
	for (uint32_t i = 0; i < classes->count; i++)
		is_wanted[i] =
			fnmatch(pattern, recording->strings[classes->classes[i].name], 0) == 0;
	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		bool is_open = recording->extras && recording->extras[i].open;
		if (is_wanted[classes->of_op[i]] && op->thread != NO_INDEX && !is_open &&
		    op->end_ns > op->start_ns)
			spans->spans[spans->span_count++] =
				(struct slow_span){ .start_ns = op->start_ns,
						    .end_ns = op->end_ns,
						    .taken_ns = op->end_ns - op->start_ns,
						    .thread = op->thread };
	}
	free(is_wanted);
	if (spans->span_count)
		qsort(spans->spans, spans->span_count, sizeof(*spans->spans), compare_places);
	drop_nested(spans);
	settle(spans, percent);
}

void slow_spans_free(struct slow_spans *spans)
{
	free(spans->spans);
	*spans = (struct slow_spans){ 0 };
}

/* The first of a thread that begins at that time or later. */
static size_t first_after(const struct slow_spans *spans, uint32_t thread, uint64_t after_ns)
{
	const struct slow_span longest = {
		.thread = thread,
		.start_ns = after_ns,
		.end_ns = UINT64_MAX,
	};
	return bound_lower(&longest, spans->spans, spans->span_count, sizeof(longest),
			   compare_places);
}

void slow_spans_add(const struct slow_spans *spans, const struct walk_slice *slice,
		    struct slow_time *time)
{
	uint64_t after_ns =
		slice->start_ns > spans->longest_ns ? slice->start_ns - spans->longest_ns : 0;
	if (spans->count == 0)
		return;
	for (size_t i = first_after(spans, slice->thread, after_ns); i < spans->span_count; i++) {
		const struct slow_span *span = &spans->spans[i];
		if (span->thread != slice->thread || span->start_ns >= slice->end_ns)
			break;
		uint64_t from = span->start_ns > slice->start_ns ? span->start_ns : slice->start_ns;
		uint64_t to = span->end_ns < slice->end_ns ? span->end_ns : slice->end_ns;
		if (to > from && span->is_slow)
			time->slow_ns += to - from;
		else if (to > from)
			time->other_ns += to - from;
	}
}
