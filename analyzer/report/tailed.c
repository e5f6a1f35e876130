/* SPDX-License-Identifier: Apache-2.0 */
/* Hands the paths of judged requests to measure/tail.h; tailed.h has the contract. */
#include "tailed.h"

#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "base/memory.h"
#include "facts.h"
#include "measure/threadslices.h"

static const double STANDARD = 99;

double tailed_percent(const char *text)
{
	char *end;
	double percent = strtod(text, &end);
	return end == text || *end || !(percent >= 50 && percent <= 99.9) ? 0 : percent;
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

/* --- What a thread did --- */

static const char *what_of(const struct analysis *analysis, const struct thread_slice *slice)
{
	const struct recording *recording = analysis->recording;
	if (slice->wait != NO_INDEX) {
		uint32_t name = analysis->labels && analysis->labels->waits
					? analysis->labels->waits[slice->wait]
					: recording->waits[slice->wait].ident;
		return recording->strings[name];
	}
	return slice->op == NO_INDEX
		       ? ""
		       : facts_class_name(analysis, analysis->classes.of_op[slice->op]);
}

static uint32_t waker_of(const struct recording *recording, const struct wakers *wakers,
			 const struct thread_slice *slice, uint32_t thread)
{
	struct waker waker = { 0 };
	if (slice->state == SLICE_BLOCKED && slice->wait != NO_INDEX)
		waker = wakers->of_wait[slice->wait];
	else if (slice->state == SLICE_BLOCKED && slice->op != NO_INDEX)
		waker = wakers->of_op[slice->op];
	if (waker.event == WAKER_NONE)
		return NO_INDEX;
	uint32_t by = waker_thread(recording, waker);
	return by == thread ? NO_INDEX : by;
}

static int compare_lengths(const void *left, const void *right)
{
	const struct tailed_slice *a = left, *b = right;
	uint64_t one = a->end_ns - a->start_ns, other = b->end_ns - b->start_ns;
	if (one != other)
		return one > other ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int compare_times(const void *left, const void *right)
{
	const struct tailed_slice *a = left, *b = right;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static size_t keep_longest(struct tailed_slice *slices, size_t count, size_t most,
			   uint64_t *left_out_ns)
{
	*left_out_ns = 0;
	if (count <= most)
		return count;
	qsort(slices, count, sizeof(*slices), compare_lengths);
	for (size_t i = most; i < count; i++)
		*left_out_ns += slices[i].end_ns - slices[i].start_ns;
	qsort(slices, most, sizeof(*slices), compare_times);
	return most;
}

struct tailed_slice *tailed_slices(const struct analysis *analysis, uint32_t request, size_t most,
				   size_t *count, uint64_t *left_out_ns)
{
	static const char *const states[SLICE_STATES] = { [SLICE_RUNNING] = "running",
							  [SLICE_QUEUED] = "waiting for a CPU",
							  [SLICE_BLOCKED] = "blocked",
							  [SLICE_UNEXPLAINED] = "unexplained" };
	const struct recording *recording = analysis->recording;
	const struct script *script = &analysis->script;
	const struct request *of = &script->requests.requests[request];
	struct tailed_slice *slices = NULL;
	struct thread_slice slice;
	struct timeline timeline;
	struct wakers wakers;
	uint64_t start_ns, end_ns;
	size_t room = 0;
	*count = 0;
	timeline_build(&timeline, recording);
	wakers_build(&wakers, recording, &timeline, &script->monitors, &script->flows);
	struct thread_slices *all = thread_slices_new(recording, &timeline);
	thread_slices_begin(all, of->thread, &start_ns, &end_ns);
	while (thread_slices_next(all, &slice)) {
		if (slice.end_ns <= of->start_ns || slice.start_ns >= of->end_ns)
			continue;
		slices = memory_grow(slices, &room, *count + 1, sizeof(*slices));
		slices[(*count)++] = (struct tailed_slice){
			slice.start_ns > of->start_ns ? slice.start_ns : of->start_ns,
			slice.end_ns < of->end_ns ? slice.end_ns : of->end_ns,
			states[slice.state],
			what_of(analysis, &slice),
			waker_of(recording, &wakers, &slice, of->thread),
		};
	}
	thread_slices_free(all);
	wakers_free(&wakers);
	timeline_free(&timeline);
	*count = keep_longest(slices, *count, most, left_out_ns);
	return slices;
}
