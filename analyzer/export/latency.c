/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the parts of slow requests and of the others; latency.h has the contract. */
#include "latency.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

enum { ALL = LATENCY_KEYS + 1 };

/* Of slow requests, or of the others. */
struct sums {
	double ns[ALL];
	double squared[ALL];
	size_t count;
};

struct latency_builder {
	struct latency *latency;
	const struct request_paths *paths;
	uint8_t *key_of; /* by part; LATENCY_KEYS = all others */
	struct sums slow;
	struct sums rest;
};

size_t latency_rank(const struct latency *latency, unsigned percent)
{
	size_t rank = latency->count * percent / 100;
	assert(latency->count > 0);
	return rank < latency->count ? rank : latency->count - 1;
}

/* --- The requests --- */

static int compare_taken(const void *left, const void *right)
{
	const struct latency_request *a = left, *b = right;
	if (a->taken_ns != b->taken_ns)
		return a->taken_ns < b->taken_ns ? -1 : 1;
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
							  request->thread, i };
	}
	if (latency->count > 1)
		qsort(latency->requests, latency->count, sizeof(*latency->requests), compare_taken);
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
	picks[count++].rank = latency_rank(latency, 50);
	picks[count++].rank = latency_rank(latency, 95);
	picks[count++].rank = latency_rank(latency, 99);
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

static struct latency_pick *pick_of(struct latency *latency, size_t rank)
{
	const struct latency_pick key = { .rank = rank };
	return bsearch(&key, latency->picks, latency->pick_count, sizeof(*latency->picks),
		       compare_ranks);
}

static void add_request(struct latency_builder *builder, size_t rank)
{
	struct latency *latency = builder->latency;
	const struct request_paths *paths = builder->paths;
	uint32_t index = latency->requests[rank].index;
	struct sums *sums = rank >= latency->slow_from ? &builder->slow : &builder->rest;
	struct latency_pick *picked = pick_of(latency, rank);
	uint64_t parts_ns[ALL] = { 0 };
	for (size_t i = paths->first[index]; i < paths->first[index + 1]; i++)
		parts_ns[builder->key_of[paths->part[i]]] += paths->ns[i];
	sums->count++;
	for (size_t k = 0; k < ALL; k++) {
		double ns = (double)parts_ns[k];
		sums->ns[k] += ns;
		sums->squared[k] += ns * ns;
		if (picked)
			picked->parts_ns[k] = parts_ns[k];
	}
}

/* The square of the standard error of a mean. */
static double variance_of_mean(const struct sums *sums, size_t key)
{
	double count = (double)sums->count, mean = sums->ns[key] / count;
	return fmax(sums->squared[key] / count - mean * mean, 0) / (count - 1);
}

static void compare(struct latency_builder *builder)
{
	const struct sums *slow = &builder->slow, *rest = &builder->rest;
	for (size_t k = 0; k < ALL; k++) {
		struct latency_share *share = &builder->latency->shares[k];
		share->slow_ns = slow->count ? slow->ns[k] / (double)slow->count : 0;
		share->rest_ns = rest->count ? rest->ns[k] / (double)rest->count : 0;
		share->error_ns =
			slow->count < 2 || rest->count < 2
				? -1
				: sqrt(variance_of_mean(slow, k) + variance_of_mean(rest, k));
	}
}

void latency_build(struct latency *latency, const struct requests *requests,
		   const struct request_paths *paths)
{
	struct latency_builder builder = { .latency = latency, .paths = paths };
	*latency = (struct latency){ 0 };
	list_requests(latency, requests);
	if (latency->count == 0)
		return;
	latency->slow_from = latency_rank(latency, LATENCY_SLOW_FROM);
	pick(latency);
	if (!paths)
		return;
	choose_keys(&builder);
	for (size_t rank = 0; rank < latency->count; rank++)
		add_request(&builder, rank);
	compare(&builder);
	free(builder.key_of);
}

void latency_free(struct latency *latency)
{
	free(latency->requests);
	*latency = (struct latency){ 0 };
}
