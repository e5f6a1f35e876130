/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the time of threads into what they did; activities.h has the contract. */
#include "activities.h"

#include <stdlib.h>

#include "base/memory.h"
#include "facts.h"

struct activities {
	const struct analysis *analysis;
	struct timeline timeline;
	struct wakers wakers;
	struct thread_slices *slices;
};

struct activities *activities_new(const struct analysis *analysis)
{
	struct activities *activities = memory_new(1, sizeof(*activities));
	const struct script *script = &analysis->script;
	activities->analysis = analysis;
	timeline_build(&activities->timeline, analysis->recording);
	wakers_build(&activities->wakers, analysis->recording, &activities->timeline,
		     &script->monitors, &script->flows);
	activities->slices = thread_slices_new(analysis->recording, &activities->timeline);
	return activities;
}

void activities_free(struct activities *activities)
{
	thread_slices_free(activities->slices);
	wakers_free(&activities->wakers);
	timeline_free(&activities->timeline);
	free(activities);
}

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
	const struct activity *a = left, *b = right;
	uint64_t one = a->end_ns - a->start_ns, other = b->end_ns - b->start_ns;
	if (one != other)
		return one > other ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int compare_times(const void *left, const void *right)
{
	const struct activity *a = left, *b = right;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static size_t keep_longest(struct activity *all, size_t count, size_t most, uint64_t *left_out_ns)
{
	*left_out_ns = 0;
	if (count <= most)
		return count;
	qsort(all, count, sizeof(*all), compare_lengths);
	for (size_t i = most; i < count; i++)
		*left_out_ns += all[i].end_ns - all[i].start_ns;
	qsort(all, most, sizeof(*all), compare_times);
	return most;
}

struct activity *activities_of(struct activities *activities, uint32_t thread, uint64_t from_ns,
			       uint64_t to_ns, size_t most, size_t *count, uint64_t *left_out_ns)
{
	const struct recording *recording = activities->analysis->recording;
	struct activity *all = NULL;
	struct thread_slice slice;
	uint64_t start_ns, end_ns;
	size_t room = 0;
	*count = 0;
	thread_slices_begin(activities->slices, thread, &start_ns, &end_ns);
	while (thread_slices_next(activities->slices, &slice)) {
		if (slice.end_ns <= from_ns || slice.start_ns >= to_ns)
			continue;
		all = memory_grow(all, &room, *count + 1, sizeof(*all));
		all[(*count)++] = (struct activity){
			slice.start_ns > from_ns ? slice.start_ns : from_ns,
			slice.end_ns < to_ns ? slice.end_ns : to_ns,
			slice.state,
			what_of(activities->analysis, &slice),
			waker_of(recording, &activities->wakers, &slice, thread),
		};
	}
	*count = keep_longest(all, *count, most, left_out_ns);
	return all;
}

const char *activities_word(enum slice_state state)
{
	static const char *const words[SLICE_STATES] = { [SLICE_RUNNING] = "running",
							 [SLICE_QUEUED] = "waiting for a CPU",
							 [SLICE_BLOCKED] = "blocked",
							 [SLICE_UNEXPLAINED] = "unexplained" };
	return words[state];
}
