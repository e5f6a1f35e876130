/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as rows: all slow ones, and of the others every so manieth in order of time, which
 * stands for those after it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/facts.h"
#include "rows_parts.h"

enum {
	SLOW_PERCENT = 5,  /* the slowest: what p95 and p99 are made of */
	SLOW_LEAST = 20,   /* but so many in any case */
	SAMPLE_MOST = 1000 /* rows of the others: a percentile in the middle is off by 2% or so */
};

struct ranked {
	uint64_t taken_ns;
	uint32_t request;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (a->taken_ns != b->taken_ns)
		return a->taken_ns > b->taken_ns ? -1 : 1;
	return (a->request > b->request) - (a->request < b->request);
}

/* By request: 1 = it is slow, 0 = it is not. */
static uint32_t *find_slow(const struct requests *requests, size_t *slow_count)
{
	size_t count = requests->count, slow = (count * SLOW_PERCENT + 99) / 100;
	struct ranked *ranked = memory_new(count, sizeof(*ranked));
	uint32_t *weights = memory_new(count, sizeof(*weights));
	for (uint32_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){ requests->requests[i].taken_ns, i };
	if (count)
		qsort(ranked, count, sizeof(*ranked), compare_ranked);
	slow = slow < SLOW_LEAST ? SLOW_LEAST : slow;
	slow = slow < count ? slow : count;
	for (size_t i = 0; i < slow; i++)
		weights[ranked[i].request] = 1;
	free(ranked);
	*slow_count = slow;
	return weights;
}

/* By request: for how many its row stands, 0 = it has none. */
static uint32_t *find_weights(const struct requests *requests)
{
	size_t slow_count;
	uint32_t *weights = find_slow(requests, &slow_count);
	size_t rest = requests->count - slow_count;
	uint32_t stride = (uint32_t)((rest + SAMPLE_MOST - 1) / SAMPLE_MOST);
	uint32_t *last = NULL;
	for (size_t i = 0; i < requests->count; i++) {
		if (weights[i])
			continue;
		if (!last || *last == stride)
			last = &weights[i];
		++*last;
	}
	return weights;
}

/* Time that is neither running nor queued for a CPU, by sort. */
static void put_blocked(struct rows *rows, const uint64_t *kind_ns)
{
	row_map_begin(rows, "blocked");
	for (enum path_kind kind = 0; kind <= PATH_UNEXPLAINED; kind++)
		if (kind != PATH_CPU && kind != PATH_CPU_WAIT && kind_ns[kind])
			row_map_count(rows, path_kind_word(kind), kind_ns[kind]);
	row_map_end(rows);
}

/* Parts come with most time first. */
static void put_top(struct rows *rows, const struct request_paths *paths, size_t request)
{
	const char *text = "";
	char *joined = NULL;
	if (paths->first[request] < paths->first[request + 1]) {
		struct path_part part =
			path_parts_at(&paths->parts, paths->part[paths->first[request]]);
		const char *name = rows->analysis->recording->strings[part.name];
		const char *word = path_kind_word(part.kind);
		joined = memory_new(strlen(word) + strlen(name) + 2, 1);
		sprintf(joined, "%s%s%s", word, *name ? " " : "", name);
		text = joined;
	}
	row_text(rows, "top_class", text);
	free(joined);
}

static void write_request(struct rows *rows, uint32_t index, uint32_t weight)
{
	const struct analysis *analysis = rows->analysis;
	const struct requests *requests = &analysis->script.requests;
	const struct request *request = &requests->requests[index];
	const struct request_paths *paths = &analysis->paths;
	uint64_t kind_ns[PATH_UNEXPLAINED + 1] = { 0 };
	char trace[IDS_TRACE_BYTES], span[IDS_SPAN_BYTES];
	ids_trace_text(trace, request->ids.trace);
	ids_span_text(span, request->ids.span);
	for (size_t i = paths->first[index]; i < paths->first[index + 1]; i++)
		kind_ns[path_parts_at(&paths->parts, paths->part[i]).kind] += paths->ns[i];
	row_begin(rows, ROWS_REQUEST);
	row_text(rows, "kind", analysis->recording->strings[request->kind]);
	row_text(rows, "class", facts_class_name(analysis, request->class));
	row_time(rows, "start", request->start_ns);
	row_count(rows, "latency_ns", request->taken_ns);
	row_count(rows, "running_ns", kind_ns[PATH_CPU]);
	row_count(rows, "queued_ns", kind_ns[PATH_CPU_WAIT]);
	put_blocked(rows, kind_ns);
	put_top(rows, paths, index);
	row_text(rows, "trace_id", trace);
	row_text(rows, "span_id", span);
	row_count(rows, "weight", weight);
	row_text(rows, "source", facts_request_source(request->source));
	row_flag(rows, "judged", request_is_judged(requests, request));
	row_flag(rows, "unfinished", request->is_unfinished);
	row_end(rows);
}

void rows_of_requests(struct rows *rows)
{
	const struct analysis *analysis = rows->analysis;
	if (!analysis->has_paths)
		return;
	uint32_t *weights = find_weights(&analysis->script.requests);
	for (uint32_t i = 0; i < analysis->paths.count; i++)
		if (weights[i])
			write_request(rows, i, weights[i]);
	free(weights);
}
