/* SPDX-License-Identifier: Apache-2.0 */
/* Hands the paths of judged requests to measure/tail.h; tailed.h has the contract. */
#include "tailed.h"

#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "base/memory.h"

static const double STANDARD = 99;

const char *tailed_class(const char *text)
{
	const char *colon = strchr(text, ':');
	return colon && colon[1] ? colon + 1 : NULL;
}

double tailed_percent(const char *text)
{
	char *end;
	double percent = strtod(text, &end);
	return end == text || (*end && *end != ':') || !(percent >= 50 && percent <= 99.9)
		       ? 0
		       : percent;
}

double tailed_asked(const struct options *options)
{
	return options->tail && options->tail[0] ? tailed_percent(options->tail) : STANDARD;
}

static int compare_starts(const void *left, const void *right, void *context)
{
	const struct request *requests = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (requests[a].start_ns != requests[b].start_ns)
		return requests[a].start_ns < requests[b].start_ns ? -1 : 1;
	return (a > b) - (a < b);
}

static size_t list_judged(struct tailed *tailed, const struct requests *requests)
{
	size_t count = 0;
	tailed->requests = memory_new(requests->count, sizeof(*tailed->requests));
	for (uint32_t i = 0; i < requests->count; i++)
		if (request_is_judged(requests, &requests->requests[i]))
			tailed->requests[count++] = i;
	if (count > 1)
		qsort_r(tailed->requests, count, sizeof(*tailed->requests), compare_starts,
			requests->requests);
	return count;
}

struct vectors {
	size_t *first;
	uint32_t *keys;
	uint64_t *ns;
	size_t count, key_room, ns_room;
};

static void add_part(struct vectors *vectors, uint32_t key, uint64_t ns)
{
	vectors->keys = memory_grow(vectors->keys, &vectors->key_room, vectors->count + 1,
				    sizeof(*vectors->keys));
	vectors->ns = memory_grow(vectors->ns, &vectors->ns_room, vectors->count + 1,
				  sizeof(*vectors->ns));
	vectors->keys[vectors->count] = key;
	vectors->ns[vectors->count++] = ns;
}

/* Time downstream is what the other end did, where that is recorded, and what is left of it. */
static void add_vector(struct vectors *vectors, const struct analysis *analysis, uint32_t request)
{
	const struct request_paths *paths = &analysis->paths;
	const struct request *requests = analysis->script.requests.requests;
	uint32_t other = requests[request].of;
	uint64_t other_ns = other == NO_INDEX ? 0 : requests[other].taken_ns;
	for (size_t p = paths->first[request]; p < paths->first[request + 1]; p++) {
		struct path_part part = path_parts_at(&paths->parts, paths->part[p]);
		uint64_t ns = paths->ns[p];
		if (part.kind == PATH_DOWNSTREAM && other_ns && other_ns <= ns) {
			for (size_t q = paths->first[other]; q < paths->first[other + 1]; q++)
				add_part(vectors, paths->part[q], paths->ns[q]);
			ns -= other_ns;
			other_ns = 0;
		}
		add_part(vectors, paths->part[p], ns);
	}
}

bool tailed_build(struct tailed *tailed, const struct analysis *analysis, double percent)
{
	const struct requests *requests = &analysis->script.requests;
	*tailed = (struct tailed){ 0 };
	if (!analysis->has_paths || requests->judged_class == NO_INDEX)
		return false;
	size_t count = list_judged(tailed, requests);
	uint64_t *taken_ns = memory_new(count, sizeof(*taken_ns));
	struct vectors vectors = { .first = memory_new(count + 1, sizeof(*vectors.first)) };
	bool *is_unfinished = memory_new(count, sizeof(*is_unfinished));
	for (size_t i = 0; i < count; i++) {
		uint32_t request = tailed->requests[i];
		taken_ns[i] = requests->requests[request].taken_ns;
		is_unfinished[i] = requests->requests[request].is_unfinished;
		add_vector(&vectors, analysis, request);
		vectors.first[i + 1] = vectors.count;
	}
	const struct tail_input input = { count,
					  taken_ns,
					  is_unfinished,
					  vectors.first,
					  vectors.keys,
					  vectors.ns,
					  (uint32_t)analysis->paths.parts.tuples.count };
	tail_build(&tailed->tail, &input, percent);
	free(is_unfinished);
	free(vectors.first);
	free(vectors.keys);
	free(vectors.ns);
	free(taken_ns);
	return true;
}

void tailed_free(struct tailed *tailed)
{
	tail_free(&tailed->tail);
	free(tailed->requests);
	*tailed = (struct tailed){ 0 };
}
