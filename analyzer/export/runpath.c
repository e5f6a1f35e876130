/* SPDX-License-Identifier: Apache-2.0 */
/* Goes back through a run, from waker to waker; runpath.h has the contract. */
#include "runpath.h"

#include <stdlib.h>

#include "base/memory.h"
#include "format.h"

/* Where the way has got to. */
struct place {
	uint32_t thread;
	uint64_t at_ns;
};

static size_t first_after(const struct timeline *timeline, const struct place *place)
{
	size_t low = timeline->first[place->thread], high = timeline->first[place->thread + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (timeline->moments[middle].at_ns <= place->at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* True: a wait or call ended at this moment, and another thread is known to have ended it. */
static bool find_waker(const struct walk *walk, const struct moment *moment, uint32_t thread,
		       struct walk_waker *waker)
{
	const struct recording *recording = walk->recording;
	struct walk_slice slice = {
		.thread = thread, .op = NO_INDEX, .wait = NO_INDEX, .is_end = true
	};
	if (moment_type(moment) == MOMENT_WAIT_END) {
		slice.wait = moment->index;
		slice.start_ns = recording->waits[moment->index].start_ns;
	} else if (moment_type(moment) == MOMENT_OP_END) {
		slice.op = moment->index;
		slice.start_ns = recording->ops[moment->index].start_ns;
	} else {
		return false;
	}
	slice.end_ns = moment->at_ns;
	return walk_waker(walk, &slice, waker) && waker->thread != thread &&
	       waker->at_ns > slice.start_ns && waker->at_ns <= moment->at_ns;
}

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

/* The thread that started this one, or its process; NO_INDEX = not known. */
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

static void add_piece(struct run_path *path, const struct place *place, uint64_t start_ns)
{
	if (start_ns >= place->at_ns)
		return;
	path->pieces =
		memory_grow(path->pieces, &path->room, path->count + 1, sizeof(*path->pieces));
	path->pieces[path->count++] = (struct path_piece){ start_ns, place->at_ns, place->thread };
}

/* One step back; false: the begin of the run, or of what is known of it. */
static bool step_back(struct run_path *path, const struct walk *walk, const uint32_t *execs,
		      struct place *place)
{
	const struct timeline *timeline = &walk->timeline;
	struct walk_waker waker;
	for (size_t i = first_after(timeline, place); i > timeline->first[place->thread]; i--)
		if (find_waker(walk, &timeline->moments[i - 1], place->thread, &waker)) {
			add_piece(path, place, waker.at_ns);
			*place = (struct place){ waker.thread, waker.at_ns };
			return true;
		}
	uint32_t starter = starter_of(walk->recording, execs, place->thread);
	uint32_t op = walk->recording->threads[place->thread].op;
	uint64_t start_ns = op == NO_INDEX ? 0 : walk->recording->ops[op].start_ns;
	add_piece(path, place, start_ns);
	if (starter == NO_INDEX || start_ns >= place->at_ns)
		return false;
	*place = (struct place){ starter, start_ns };
	return true;
}

/* The thread that ran last, and until when: what only waits at the end is not what ended it. */
static struct place last_runner(struct walk *walk)
{
	struct place place = { NO_INDEX, 0 };
	for (uint32_t thread = 0; thread < walk_thread_count(walk); thread++) {
		struct walk_slice slice;
		walk_thread(walk, thread);
		while (walk_next(walk, &slice))
			if (slice.state == WALK_RUNNING &&
			    (place.thread == NO_INDEX || slice.end_ns > place.at_ns))
				place = (struct place){ thread, slice.end_ns };
	}
	return place;
}

void run_path_build(struct run_path *path, struct walk *walk)
{
	*path = (struct run_path){ 0 };
	struct place place = last_runner(walk);
	if (place.thread == NO_INDEX)
		return;
	uint32_t *execs = find_execs(walk->recording);
	for (size_t steps = 0; steps < RUN_PATH_PIECES_MAX; steps++)
		if (!step_back(path, walk, execs, &place))
			break;
	free(execs);
}

void run_path_free(struct run_path *path)
{
	free(path->pieces);
}
