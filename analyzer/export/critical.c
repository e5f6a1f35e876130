/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the critical path; critical.h has the contract.
 *
 * The first walk notes the waits that another thread ended, by thread and time. The way back goes
 * from one to the next, and leaves stretches: parts of a thread's time. The second walk fetches
 * their slices. Memory: 24 bytes for each such wait, and the path.
 */
#include "critical.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "format.h"

/* A wait that ended then, and by whom. */
struct joint {
	uint64_t end_ns;
	uint64_t at_ns;
	uint32_t thread;
};

struct stretch {
	uint64_t from_ns;
	uint64_t to_ns;
	uint32_t thread;
};

struct starter {
	uint64_t at_ns;
	uint32_t thread; /* NO_INDEX = not known */
};

struct way {
	struct walk *walk;
	struct joint *joints; /* thread by thread, in order of their ends */
	size_t *first;        /* thread t owns joints [first[t], first[t + 1]) */
	size_t joint_room;
	uint64_t *begin_ns; /* by thread */
	uint64_t *end_ns;
	struct starter *starters;  /* by thread */
	struct stretch *stretches; /* the last one first */
	size_t count, room;
};

/* --- Forwards --- */

static void note_joints(struct way *way)
{
	struct walk *walk = way->walk;
	uint32_t threads = walk_thread_count(walk);
	size_t count = 0;
	struct walk_slice slice;
	struct walk_waker waker;
	for (uint32_t thread = 0; thread < threads; thread++) {
		way->first[thread] = count;
		walk_thread(walk, thread);
		way->begin_ns[thread] = walk->start_ns;
		way->end_ns[thread] = walk->end_ns;
		while (walk_next(walk, &slice)) {
			if (!walk_waker(walk, &slice, &waker))
				continue;
			way->joints = memory_grow(way->joints, &way->joint_room, count + 1,
						  sizeof(*way->joints));
			way->joints[count++] =
				(struct joint){ slice.end_ns, waker.at_ns, waker.thread };
		}
	}
	way->first[threads] = count;
}

/* The thread that has the op which this thread's op is part of: that started its process. */
static uint32_t parent_thread(const struct recording *recording, uint32_t thread)
{
	uint32_t op = recording->threads[thread].op;
	while (op != NO_INDEX &&
	       (recording->ops[op].thread == NO_INDEX || recording->ops[op].thread == thread))
		op = recording->ops[op].parent;
	return op == NO_INDEX ? NO_INDEX : recording->ops[op].thread;
}

static void find_starters(struct way *way)
{
	const struct recording *recording = way->walk->recording;
	for (uint32_t i = 0; i < recording->thread_count; i++)
		way->starters[i] =
			(struct starter){ way->begin_ns[i], parent_thread(recording, i) };
	for (size_t i = 0; i < recording->link_count; i++) {
		const struct rec_link *link = &recording->links[i];
		if (link->kind != LINK_SPAWN || link->to == NO_INDEX || link->thread == NO_INDEX)
			continue;
		uint32_t thread = recording->ops[link->to].thread;
		if (thread != NO_INDEX && thread != link->thread)
			way->starters[thread] = (struct starter){ link->at_ns, link->thread };
	}
}

/* --- Backwards --- */

/* The last wait of a thread until then that another thread ended; NULL: there is none. */
static const struct joint *joint_before(const struct way *way, uint32_t thread, uint64_t at_ns,
					bool is_earlier)
{
	size_t low = way->first[thread], high = way->first[thread + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (way->joints[middle].end_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	while (is_earlier && low > way->first[thread] && way->joints[low - 1].at_ns >= at_ns)
		low--;
	return low > way->first[thread] ? &way->joints[low - 1] : NULL;
}

static void add_stretch(struct way *way, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns >= to_ns)
		return;
	way->stretches =
		memory_grow(way->stretches, &way->room, way->count + 1, sizeof(*way->stretches));
	way->stretches[way->count++] = (struct stretch){ from_ns, to_ns, thread };
}

static uint32_t last_thread(const struct way *way)
{
	uint32_t last = 0;
	for (uint32_t i = 1; i < walk_thread_count(way->walk); i++)
		if (way->end_ns[i] > way->end_ns[last])
			last = i;
	return last;
}

/* Where the path comes from at `*at_ns`; false: from nowhere, it begins with this thread. */
static bool step_back(struct way *way, uint32_t *thread, uint64_t *at_ns, bool is_earlier)
{
	const struct joint *joint = joint_before(way, *thread, *at_ns, is_earlier);
	if (joint) {
		add_stretch(way, *thread, joint->at_ns, *at_ns);
		*at_ns = joint->at_ns;
		*thread = joint->thread;
		return true;
	}
	const struct starter *starter = &way->starters[*thread];
	uint64_t begin_ns = way->begin_ns[*thread];
	add_stretch(way, *thread, begin_ns, *at_ns);
	begin_ns = starter->at_ns < begin_ns ? starter->at_ns : begin_ns;
	*at_ns = begin_ns < *at_ns ? begin_ns : *at_ns;
	*thread = starter->thread;
	return *thread != NO_INDEX;
}

/* At one time it may go through several threads, but not in a circle. */
static void go_back(struct way *way)
{
	uint32_t threads = walk_thread_count(way->walk), turns = 0;
	uint32_t thread = last_thread(way);
	uint64_t at_ns = way->end_ns[thread], last_ns = at_ns;
	while (turns < 2 * threads && step_back(way, &thread, &at_ns, turns >= threads)) {
		turns = at_ns < last_ns ? 0 : turns + 1;
		last_ns = at_ns;
	}
}

/* --- Slices --- */

static int compare_stretches(const void *a, const void *b)
{
	const struct stretch *left = a, *right = b;
	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	return (left->from_ns > right->from_ns) - (left->from_ns < right->from_ns);
}

static int compare_slices(const void *a, const void *b)
{
	const struct walk_slice *left = a, *right = b;
	return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

/* A slice goes into each stretch of its thread that it is in, cut to it. */
static void fetch_slice(struct critical *critical, size_t *room, const struct walk_slice *slice,
			const struct stretch *stretch)
{
	uint64_t from_ns = slice->start_ns > stretch->from_ns ? slice->start_ns : stretch->from_ns;
	uint64_t to_ns = slice->end_ns < stretch->to_ns ? slice->end_ns : stretch->to_ns;
	if (from_ns >= to_ns)
		return;
	critical->slices =
		memory_grow(critical->slices, room, critical->count + 1, sizeof(*critical->slices));
	critical->slices[critical->count] = *slice;
	critical->slices[critical->count].start_ns = from_ns;
	critical->slices[critical->count++].end_ns = to_ns;
}

static void fetch_slices(struct critical *critical, const struct way *way)
{
	struct walk_slice slice;
	size_t room = 0;
	for (size_t from = 0, to; from < way->count; from = to) {
		uint32_t thread = way->stretches[from].thread;
		for (to = from; to < way->count && way->stretches[to].thread == thread;)
			to++;
		size_t next = from;
		for (walk_thread(way->walk, thread); walk_next(way->walk, &slice);) {
			while (next < to && way->stretches[next].to_ns <= slice.start_ns)
				next++;
			for (size_t i = next; i < to && way->stretches[i].from_ns < slice.end_ns;
			     i++)
				fetch_slice(critical, &room, &slice, &way->stretches[i]);
		}
	}
	if (critical->count > 1)
		qsort(critical->slices, critical->count, sizeof(*critical->slices), compare_slices);
}

void critical_build(struct critical *critical, struct walk *walk)
{
	uint32_t threads = walk_thread_count(walk);
	struct way way = {
		.walk = walk,
		.first = memory_new(threads + 1, sizeof(*way.first)),
		.begin_ns = memory_new(threads, sizeof(*way.begin_ns)),
		.end_ns = memory_new(threads, sizeof(*way.end_ns)),
		.starters = memory_new(threads, sizeof(*way.starters)),
	};
	*critical = (struct critical){ 0 };
	if (threads > 0) {
		note_joints(&way);
		find_starters(&way);
		go_back(&way);
		if (way.count > 1)
			qsort(way.stretches, way.count, sizeof(*way.stretches), compare_stretches);
		fetch_slices(critical, &way);
	}
	free(way.joints);
	free(way.first);
	free(way.begin_ns);
	free(way.end_ns);
	free(way.starters);
	free(way.stretches);
}

void critical_free(struct critical *critical)
{
	free(critical->slices);
	*critical = (struct critical){ 0 };
}
