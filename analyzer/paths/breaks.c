/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the breaks of each thread; breaks.h has the contract. */
#include "breaks.h"

#include <stdlib.h>

#include "base/memory.h"

struct collecting {
	struct breaks *breaks;
	size_t count, room;
};

static void add(struct collecting *collecting, uint64_t start_ns, uint64_t end_ns, uint32_t index,
		enum break_sort sort)
{
	struct breaks *breaks = collecting->breaks;
	if (start_ns >= end_ns)
		return;
	breaks->breaks = memory_grow(breaks->breaks, &collecting->room, collecting->count + 1,
				     sizeof(*breaks->breaks));
	breaks->breaks[collecting->count++] = (struct path_break){ start_ns, end_ns, index, sort };
}

static void add_locks(struct collecting *collecting, const struct request_paths_of *of,
		      const struct held_locks *locks, uint32_t thread)
{
	const struct timeline *timeline = of->timeline;
	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
		const struct moment *moment = &timeline->moments[i];
		if (moment_type(moment) != MOMENT_WAIT_END ||
		    locks->lane_of[moment->index] == NO_INDEX)
			continue;
		const struct rec_wait *wait = &of->recording->waits[moment->index];
		add(collecting, wait->start_ns, wait->end_ns, locks->lane_of[moment->index],
		    BREAK_LOCK);
	}
}

static void add_joints(struct collecting *collecting, const struct joints *joints,
		       const struct held_locks *locks, uint32_t thread)
{
	for (size_t i = joints->first[thread]; i < joints->first[thread + 1]; i++) {
		const struct joint *joint = &joints->joints[i];
		if (!joint->is_wait || locks->lane_of[joint->index] == NO_INDEX)
			add(collecting, joint->start_ns, joint->end_ns, (uint32_t)i, BREAK_JOINT);
	}
}

struct asked {
	const struct request_paths_of *of;
	const struct owners *owners;
};

static uint32_t thread_of(const void *context, size_t request)
{
	const struct asked *asked = context;
	const struct request *of = &asked->of->requests->requests[request];
	bool is_here = of->source == REQUEST_ASKED &&
		       asked->owners->owned[request].end_thread == of->thread;
	return is_here ? of->thread : NO_INDEX;
}

static int compare_breaks(const void *a, const void *b)
{
	const struct path_break *left = a, *right = b;
	if (left->end_ns != right->end_ns)
		return left->end_ns < right->end_ns ? -1 : 1;
	if (left->start_ns != right->start_ns)
		return left->start_ns > right->start_ns ? -1 : 1;
	if (left->sort != right->sort)
		return left->sort < right->sort ? -1 : 1;
	return (left->index > right->index) - (left->index < right->index);
}

void breaks_build(struct breaks *breaks, const struct request_paths_of *of,
		  const struct joints *joints, const struct owners *owners,
		  const struct held_locks *locks)
{
	struct collecting collecting = { .breaks = breaks };
	const struct asked asked = { of, owners };
	size_t threads = of->recording->thread_count, count;
	struct buckets by_thread;
	*breaks = (struct breaks){ .first = memory_new(threads + 1, sizeof(*breaks->first)) };
	buckets_build(&by_thread, threads, of->requests->count, thread_of, &asked);
	for (uint32_t thread = 0; thread < threads; thread++) {
		const uint32_t *requests = buckets_of(&by_thread, thread, &count);
		size_t first = breaks->first[thread] = collecting.count;
		add_locks(&collecting, of, locks, thread);
		add_joints(&collecting, joints, locks, thread);
		for (size_t i = 0; i < count; i++) {
			const struct request *request = &of->requests->requests[requests[i]];
			add(&collecting, request->start_ns, request->end_ns, requests[i],
			    BREAK_ASKED);
		}
		if (collecting.count - first > 1)
			qsort(breaks->breaks + first, collecting.count - first,
			      sizeof(*breaks->breaks), compare_breaks);
	}
	breaks->first[threads] = collecting.count;
	buckets_free(&by_thread);
}

void breaks_free(struct breaks *breaks)
{
	free(breaks->breaks);
	free(breaks->first);
	*breaks = (struct breaks){ 0 };
}

size_t breaks_until(const struct breaks *breaks, uint32_t thread, uint64_t at_ns)
{
	size_t low = breaks->first[thread], high = breaks->first[thread + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (breaks->breaks[middle].end_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
