/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts a recording at ends of requests or of ops; stretches.h has the contract.
 */
#include "stretches.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buckets.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "format.h"

enum {
	STRETCHES_MAX = 64, /* more have too few requests each to be alike */
	EDGE = 10           /* one part in so many, on either side, may have no ops */
};

/* Ends of requests or of ops. */
struct marks {
	uint64_t *at_ns;
	size_t count;
};

static int compare_times(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

bool stretches_is_unit(const struct requests *requests, const struct request *request)
{
	return request->source != REQUEST_LOCK && request_is_judged(requests, request);
}

bool stretches_has_requests(const struct analysis *analysis)
{
	const struct requests *requests = &analysis->script.requests;
	return analysis->has_script && requests->judged_class != NO_INDEX &&
	       requests->judged_source != REQUEST_LOCK && requests->judged_count >= STRETCHES_LEAST;
}

static struct marks ends_of_requests(const struct requests *requests, uint64_t *first_ns)
{
	struct marks marks = { memory_new(requests->count, sizeof(*marks.at_ns)), 0 };
	*first_ns = UINT64_MAX;
	for (size_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->requests[i];
		if (!stretches_is_unit(requests, request))
			continue;
		marks.at_ns[marks.count++] = request->end_ns;
		*first_ns = request->start_ns < *first_ns ? request->start_ns : *first_ns;
	}
	return marks;
}

/* --- ops that come evenly --- */

static uint32_t class_of_progress(const void *context, size_t op)
{
	const struct analysis *analysis = context;
	uint16_t kind = analysis->recording->ops[op].kind;
	bool is_one =
		kind == KIND_IO || kind == KIND_HOLD || kind == KIND_DNS || kind == KIND_SLEEP;
	return is_one ? analysis->classes.of_op[op] : NO_INDEX;
}

/* Number of ops, times the part of the run over which most of them come. */
static double evenness(const struct analysis *analysis, const uint32_t *ops, size_t count,
		       uint64_t *ends_ns)
{
	for (size_t i = 0; i < count; i++)
		ends_ns[i] = analysis->recording->ops[ops[i]].end_ns;
	uint64_t early_ns = percentile_select(ends_ns, count, count / EDGE);
	uint64_t late_ns = percentile_select(ends_ns, count, count - 1 - count / EDGE);
	return (double)count * (double)(late_ns - early_ns);
}

static struct marks ends_of_ops(const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	struct marks marks = { memory_new(recording->op_count, sizeof(*marks.at_ns)), 0 };
	struct buckets by_class;
	double best_weight = 0;
	uint32_t best = NO_INDEX;
	size_t count;
	buckets_build(&by_class, analysis->classes.count, recording->op_count, class_of_progress,
		      analysis);
	for (uint32_t class = 0; class < analysis->classes.count; class ++) {
		const uint32_t *ops = buckets_of(&by_class, class, &count);
		double weight =
			count < STRETCHES_LEAST ? 0 : evenness(analysis, ops, count, marks.at_ns);
		if (weight > best_weight)
			best = class, best_weight = weight;
	}
	const uint32_t *ops = buckets_of(&by_class, best == NO_INDEX ? 0 : best, &count);
	for (size_t i = 0; best != NO_INDEX && i < count; i++)
		marks.at_ns[marks.count++] = recording->ops[ops[i]].end_ns;
	buckets_free(&by_class);
	return marks;
}

/* --- stretches --- */

/* Ends of the last stretch are the last mark's, and of one moment in one stretch. */
static void cut(struct stretches *stretches, struct marks *marks)
{
	size_t wanted = marks->count < STRETCHES_MAX ? marks->count : STRETCHES_MAX;
	if (marks->count > 1)
		qsort(marks->at_ns, marks->count, sizeof(*marks->at_ns), compare_times);
	for (size_t i = 0, from = 0; i < wanted; i++) {
		size_t to = marks->count * (i + 1) / wanted;
		while (to < marks->count && marks->at_ns[to] == marks->at_ns[to - 1])
			to++;
		if (to <= from)
			continue;
		stretches->units[stretches->count++] = (double)(to - from);
		stretches->borders_ns[stretches->count] = marks->at_ns[to - 1];
		from = to;
	}
}

void stretches_build(struct stretches *stretches, const struct analysis *analysis, bool by_requests)
{
	struct marks marks;
	*stretches = (struct stretches){
		.unit = by_requests ? UNIT_REQUEST : UNIT_RUN,
		.borders_ns = memory_new(STRETCHES_MAX + 1, sizeof(*stretches->borders_ns)),
		.units = memory_new(STRETCHES_MAX, sizeof(*stretches->units)),
	};
	if (by_requests) {
		marks = ends_of_requests(&analysis->script.requests, &stretches->borders_ns[0]);
		cut(stretches, &marks);
	} else {
		marks = ends_of_ops(analysis);
		cut(stretches, &marks);
		if (!marks.count)
			marks.count = stretches->count = 1, stretches->units[0] = 1;
		stretches->borders_ns[0] = analysis->graph.start_ns;
		stretches->borders_ns[stretches->count] = analysis->graph.end_ns;
		for (size_t i = 0; i < stretches->count; i++)
			stretches->units[i] /= (double)marks.count;
	}
	free(marks.at_ns);
}

void stretches_free(struct stretches *stretches)
{
	free(stretches->borders_ns);
	free(stretches->units);
	*stretches = (struct stretches){ 0 };
}

uint32_t stretches_at(const struct stretches *stretches, uint64_t at_ns)
{
	size_t low = 0, high = stretches->count;
	if (!high || at_ns < stretches->borders_ns[0] || at_ns > stretches->borders_ns[high])
		return NO_INDEX;
	while (low + 1 < high) {
		size_t middle = (low + high) / 2;
		if (stretches->borders_ns[middle] < at_ns)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low;
}
