/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as spans of threads; request_spans.h has the contract.
 *
 * In order of their begin, each request is held against the last one that counted. It comes after
 * that one, lies within it, or overlaps it and counts from its end on.
 */
#include "request_spans.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

/* In order of threads, then begin, then the longest first. */
static int compare_spans(const void *a, const void *b)
{
	const struct request_span *left = a, *right = b;
	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	if (left->end_ns != right->end_ns)
		return left->end_ns > right->end_ns ? -1 : 1;
	return (left->request > right->request) - (left->request < right->request);
}

static void keep(struct request_spans *spans, const struct request_span *span)
{
	if (span->start_ns < span->end_ns)
		spans->spans[spans->count++] = *span;
}

/* In place: never more spans than there were requests. */
static void flatten(struct request_spans *spans, size_t count)
{
	struct request_span current = { .thread = NO_INDEX };
	for (size_t i = 0; i < count; i++) {
		struct request_span next = spans->spans[i];
		if (next.thread == current.thread && next.end_ns <= current.end_ns)
			continue;
		if (next.thread == current.thread && next.start_ns < current.end_ns) {
			uint64_t until_ns = current.end_ns;
			current.end_ns =
				next.start_ns > current.start_ns ? next.start_ns : current.start_ns;
			next.start_ns = until_ns;
		}
		keep(spans, &current);
		current = next;
	}
	keep(spans, &current);
}

void request_spans_build(struct request_spans *spans, const struct walk *walk)
{
	size_t request_count, count = 0;
	*spans = (struct request_spans){ .requests = walk_requests(walk, &request_count) };
	spans->spans = memory_new(request_count, sizeof(*spans->spans));
	for (size_t i = 0; i < request_count; i++) {
		const struct walk_request *request = &spans->requests[i];
		uint32_t thread = walk->recording->ops[request->op].thread;
		if (thread != NO_INDEX && request->source != REQUEST_LOCK)
			spans->spans[count++] =
				(struct request_span){ request->start_ns, request->end_ns, thread,
						       (uint32_t)i };
	}
	if (count > 0)
		qsort(spans->spans, count, sizeof(*spans->spans), compare_spans);
	flatten(spans, count);
}

void request_spans_free(struct request_spans *spans)
{
	free(spans->requests);
	free(spans->spans);
	*spans = (struct request_spans){ 0 };
}

const struct request_span *request_spans_after(const struct request_spans *spans, uint32_t thread,
					       uint64_t at_ns)
{
	size_t low = 0, high = spans->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct request_span *span = &spans->spans[middle];
		if (span->thread < thread || (span->thread == thread && span->end_ns <= at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low < spans->count && spans->spans[low].thread == thread ? &spans->spans[low] : NULL;
}

const struct walk_request *request_spans_at(const struct request_spans *spans, uint32_t thread,
					    uint64_t at_ns)
{
	const struct request_span *span = request_spans_after(spans, thread, at_ns);
	return span && span->start_ns <= at_ns ? &spans->requests[span->request] : NULL;
}
