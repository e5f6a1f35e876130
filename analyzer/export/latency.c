/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts requests, and adds up the parts of those that are picked; latency.h has the contract. */
#include "latency.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/percentile.h"

struct latency_builder {
	struct latency *latency;
	const struct request_paths *paths;
	uint8_t *key_of; /* by part; LATENCY_KEYS = all others */
};

static const double percents[LATENCY_MARKS] = { 50, 95, 99 };

unsigned latency_percent(size_t mark)
{
	assert(mark < LATENCY_MARKS);
	return (unsigned)percents[mark];
}

/* --- The requests --- */

static int compare_taken(const void *left, const void *right)
{
	const struct latency_request *a = left, *b = right;
	if (a->taken_ns != b->taken_ns)
		return a->taken_ns < b->taken_ns ? -1 : 1;
	if (a->is_unfinished != b->is_unfinished)
		return a->is_unfinished ? 1 : -1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static void list_requests(struct latency *latency, const struct requests *requests)
{
	latency->requests = memory_new(requests->count, sizeof(*latency->requests));
	for (uint32_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->requests[i];
		if (request_is_judged(requests, request) && request->thread != NO_INDEX)
			latency->requests[latency->count++] =
				(struct latency_request){ request->start_ns, request->taken_ns,
							  request->thread, i,
							  request->is_unfinished };
	}
	if (latency->count > 1)
		qsort(latency->requests, latency->count, sizeof(*latency->requests), compare_taken);
}

static void find_marks(struct latency *latency)
{
	bool *is_cut = memory_new(latency->count, sizeof(*is_cut));
	const struct percentile_list list = { .count = latency->count, .is_cut = is_cut };
	for (size_t rank = 0; rank < latency->count; rank++) {
		is_cut[rank] = latency->requests[rank].is_unfinished;
		latency->unfinished_count += is_cut[rank];
	}
	percentile_ranks(&list, percents, LATENCY_MARKS, latency->marks);
	free(is_cut);
}

static int compare_ranks(const void *left, const void *right)
{
	const struct latency_pick *a = left, *b = right;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static void pick(struct latency *latency)
{
	size_t last = latency->count - 1, count = 0, kept = 0;
	struct latency_pick *picks = latency->picks;
	for (size_t i = 0; i <= LATENCY_STEPS; i++)
		picks[count++].rank = last * i / LATENCY_STEPS;
	for (size_t i = 0; i < LATENCY_MARKS; i++)
		if (latency->marks[i] < latency->count)
			picks[count++].rank = latency->marks[i];
	for (size_t i = 0; i < LATENCY_SLOWEST && i <= last; i++)
		picks[count++].rank = last - i;
	assert(count <= LATENCY_PICKS);
	qsort(picks, count, sizeof(*picks), compare_ranks);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || picks[i].rank != picks[kept - 1].rank)
			picks[kept++].rank = picks[i].rank;
	latency->pick_count = kept;
}

/* --- Parts --- */

static int compare_parts(const void *left, const void *right, void *context)
{
	const uint64_t *ns = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (ns[a] != ns[b])
		return ns[a] > ns[b] ? -1 : 1;
	return (a > b) - (a < b);
}

/* The parts with most time get keys. */
static void choose_keys(struct latency_builder *builder)
{
	const struct request_paths *paths = builder->paths;
	struct latency *latency = builder->latency;
	uint32_t parts = paths->parts.tuples.count;
	uint64_t *ns = memory_new(parts, sizeof(*ns));
	uint32_t *order = memory_new(parts, sizeof(*order));
	builder->key_of = memory_new(parts, sizeof(*builder->key_of));
	for (size_t rank = 0; rank < latency->count; rank++) {
		uint32_t index = latency->requests[rank].index;
		for (size_t i = paths->first[index]; i < paths->first[index + 1]; i++)
			ns[paths->part[i]] += paths->ns[i];
	}
	for (uint32_t i = 0; i < parts; i++)
		order[i] = i;
	qsort_r(order, parts, sizeof(*order), compare_parts, ns);
	for (uint32_t i = 0; i < parts; i++) {
		bool has_key = i < LATENCY_KEYS && ns[order[i]] > 0;
		builder->key_of[order[i]] = (uint8_t)(has_key ? i : LATENCY_KEYS);
		if (has_key)
			latency->keys[latency->key_count++] =
				path_parts_at(&paths->parts, order[i]);
	}
	free(order);
	free(ns);
}

static void add_parts(const struct latency_builder *builder, struct latency_pick *picked)
{
	const struct request_paths *paths = builder->paths;
	uint32_t index = builder->latency->requests[picked->rank].index;
	for (size_t i = paths->first[index]; i < paths->first[index + 1]; i++)
		picked->parts_ns[builder->key_of[paths->part[i]]] += paths->ns[i];
}

void latency_build(struct latency *latency, const struct requests *requests,
		   const struct request_paths *paths)
{
	struct latency_builder builder = { .latency = latency, .paths = paths };
	*latency = (struct latency){ 0 };
	list_requests(latency, requests);
	if (latency->count == 0)
		return;
	find_marks(latency);
	pick(latency);
	if (!paths)
		return;
	choose_keys(&builder);
	for (size_t i = 0; i < latency->pick_count; i++)
		add_parts(&builder, &latency->picks[i]);
	free(builder.key_of);
}

void latency_free(struct latency *latency)
{
	free(latency->requests);
	*latency = (struct latency){ 0 };
}
