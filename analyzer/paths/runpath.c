/* SPDX-License-Identifier: Apache-2.0 */
/* Goes back through a run, from waker to waker; runpath.h has the contract. */
#include "runpath.h"

#include <stdlib.h>

#include "base/memory.h"
#include "format.h"
#include "measure/threadslices.h"

/* Another thread started this one then. */
struct starter {
	uint64_t at_ns;
	uint32_t thread; /* NO_INDEX = not known */
};

/* Where the way has got to. */
struct place {
	uint64_t at_ns;
	uint32_t thread;
};

struct way {
	struct run_path *path;
	struct joints joints;
	struct starter *starters; /* by thread */
	uint64_t *begins_ns;      /* by thread */
};

/* --- Begins of threads --- */

/* By process: the op that it was started in, which names it; NO_INDEX = not known. */
static uint32_t *find_execs(const struct recording *recording)
{
	uint32_t *process_of = memory_new(recording->string_count, sizeof(*process_of));
	uint32_t *execs = memory_new(recording->process_count, sizeof(*execs));
	for (uint32_t i = 0; i < recording->process_count; i++) {
		process_of[recording->processes[i].client] = i + 1;
		execs[i] = NO_INDEX;
	}
	process_of[0] = 0;
	for (uint32_t i = 0; i < recording->op_count; i++)
		if (recording->ops[i].kind == KIND_EXEC && process_of[recording->ops[i].ident] > 0)
			execs[process_of[recording->ops[i].ident] - 1] = i;
	free(process_of);
	return execs;
}

/* The thread of an op around this thread's, or that started its process; NO_INDEX = not known. */
static uint32_t starter_of(const struct recording *recording, const uint32_t *execs,
			   uint32_t thread)
{
	const struct rec_op *ops = recording->ops;
	uint32_t op = recording->threads[thread].op;
	for (; op != NO_INDEX; op = ops[op].parent)
		if (ops[op].thread != NO_INDEX && ops[op].thread != thread)
			return ops[op].thread;
	op = execs[recording->threads[thread].process];
	return op == NO_INDEX || ops[op].thread == thread ? NO_INDEX : ops[op].thread;
}

/* A link that tells of a start says when it was. */
static void find_starters(struct way *way, const struct recording *recording)
{
	uint32_t *execs = find_execs(recording);
	for (uint32_t i = 0; i < recording->thread_count; i++)
		way->starters[i] =
			(struct starter){ way->begins_ns[i], starter_of(recording, execs, i) };
	for (size_t i = 0; i < recording->link_count; i++) {
		const struct rec_link *link = &recording->links[i];
		if (link->kind != LINK_SPAWN || link->to == NO_INDEX || link->thread == NO_INDEX)
			continue;
		uint32_t thread = recording->ops[link->to].thread;
		if (thread == NO_INDEX || thread == link->thread)
			continue;
		uint64_t at_ns =
			link->at_ns < way->begins_ns[thread] ? link->at_ns : way->begins_ns[thread];
		way->starters[thread] = (struct starter){ at_ns, link->thread };
	}
	free(execs);
}

/* Notes when each thread begins. A thread that only waits at the end of the run did not end it. */
static struct place find_end(struct way *way, const struct recording *recording,
			     const struct timeline *timeline)
{
	struct thread_slices *slices = thread_slices_new(recording, timeline);
	struct place runner = { 0, NO_INDEX }, last = { 0, NO_INDEX };
	for (uint32_t thread = 0; thread < recording->thread_count; thread++) {
		struct thread_slice slice;
		uint64_t end_ns;
		thread_slices_begin(slices, thread, &way->begins_ns[thread], &end_ns);
		if (last.thread == NO_INDEX || end_ns > last.at_ns)
			last = (struct place){ end_ns, thread };
		while (thread_slices_next(slices, &slice))
			if (slice.state == SLICE_RUNNING && slice.end_ns > runner.at_ns)
				runner = (struct place){ slice.end_ns, thread };
	}
	thread_slices_free(slices);
	return runner.thread == NO_INDEX ? last : runner;
}

/* --- Backwards --- */

static void add_piece(struct run_path *path, const struct place *place, uint64_t start_ns)
{
	if (start_ns >= place->at_ns)
		return;
	path->pieces =
		memory_grow(path->pieces, &path->room, path->count + 1, sizeof(*path->pieces));
	path->pieces[path->count++] = (struct path_piece){ start_ns, place->at_ns, place->thread };
}

/* One step back; false: the begin of the run, or of what is known of it. */
static bool step_back(struct way *way, struct place *place, bool is_earlier)
{
	size_t first = way->joints.first[place->thread];
	const struct joint *joint = joints_before(&way->joints, place->thread, place->at_ns);
	while (joint && is_earlier && joint->at_ns >= place->at_ns)
		joint = joint > &way->joints.joints[first] ? joint - 1 : NULL;
	if (joint) {
		add_piece(way->path, place, joint->at_ns);
		*place = (struct place){ joint->at_ns, joint->thread };
		return true;
	}
	const struct starter *starter = &way->starters[place->thread];
	add_piece(way->path, place, way->begins_ns[place->thread]);
	if (starter->at_ns < place->at_ns)
		place->at_ns = starter->at_ns;
	place->thread = starter->thread;
	return place->thread != NO_INDEX;
}

/* At one time it may go through several threads, but not in a circle. */
static void go_back(struct way *way, struct place place, size_t threads)
{
	uint64_t last_ns = place.at_ns;
	size_t turns = 0;
	while (turns < 2 * threads && step_back(way, &place, turns >= threads)) {
		turns = place.at_ns < last_ns ? 0 : turns + 1;
		last_ns = place.at_ns;
	}
}

void run_path_build(struct run_path *path, const struct recording *recording,
		    const struct timeline *timeline, const struct wakers *wakers)
{
	struct way way = { .path = path };
	*path = (struct run_path){ 0 };
	if (!recording->threads || recording->thread_count == 0)
		return;
	way.begins_ns = memory_new(recording->thread_count, sizeof(*way.begins_ns));
	way.starters = memory_new(recording->thread_count, sizeof(*way.starters));
	joints_build(&way.joints, recording, timeline, wakers);
	struct place end = find_end(&way, recording, timeline);
	find_starters(&way, recording);
	go_back(&way, end, recording->thread_count);
	joints_free(&way.joints);
	free(way.starters);
	free(way.begins_ns);
}

void run_path_free(struct run_path *path)
{
	free(path->pieces);
	*path = (struct run_path){ 0 };
}
