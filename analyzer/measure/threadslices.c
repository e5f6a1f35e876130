/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts threads' time into slices; threadslices.h has the contract.
 *
 * The samples of a thread cut its time into pieces, of which each has so much CPU time. In a piece,
 * the thread is taken to have been on the CPU outside calls first. The CPU time that is left was
 * used in the calls, by each in proportion to its length, as it began. If the CPU time does not
 * even cover what is outside calls, the thread waited for a CPU as long as the kernel says. The
 * rest is unexplained. If the kernel says more than that, the thread waited for a CPU in its calls,
 * as it came back from them. The rest of the calls is blocked time.
 *
 * Without samples nothing is known of CPU time: calls count as blocked, the rest as unexplained.
 * Shares are rounded down from the piece's begin on, so that those of a piece add up to it.
 */
#include "threadslices.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"
#include "recording/samples.h"
#include "recording/startup.h"
#include "recording/words.h"

struct open_call {
	uint32_t index;
	bool is_wait;
};

/* Part of a thread's time in which it used so much CPU time. */
struct piece {
	uint64_t end_ns;
	uint64_t called_ns;  /* in calls */
	uint64_t off_ns;     /* of it, not running */
	uint64_t back_ns;    /* of that, waiting for a CPU */
	uint64_t running_ns; /* outside calls, as the next two */
	uint64_t queued_ns;
	uint64_t free_ns;    /* neither running nor in a call */
	uint64_t counted_ns; /* of queueing, the kernel's news at its end */
};

/* Up to where a piece has been cut: of each sum, what is done. */
struct done {
	uint64_t called_ns;
	uint64_t off_ns;
	uint64_t outside_ns;
	uint64_t free_ns;
};

/* Walks through a thread's moments: at each time the innermost call is on top. */
struct cursor {
	const struct moment *at, *end;
	uint64_t now_ns;
	size_t depth;
};

/* Time of a thread in one call, or outside all. */
struct stretch {
	uint64_t start_ns;
	uint64_t end_ns;
	struct open_call call; /* NO_INDEX = outside */
};

struct thread_slices {
	const struct recording *recording;
	const struct timeline *timeline;
	uint64_t *startup_ns; /* by thread, as startup.h has them */
	uint64_t *queued_before_ns;
	struct open_call *open; /* the innermost one last */
	size_t open_room;
	struct piece *pieces;
	size_t piece_count, piece_room;
	size_t piece; /* that is being cut */
	struct done done;
	struct cursor cursor;
	struct thread_slice ready[SLICE_STATES]; /* of the last stretch; the next one first */
	size_t ready_count, ready_next;
};

/* Of `share_ns`, which is spread over `whole_ns`, what is in the next `ns`; moves on. */
static uint64_t part(uint64_t *done_ns, uint64_t ns, uint64_t share_ns, uint64_t whole_ns)
{
	uint64_t from_ns = *done_ns, to_ns = from_ns + ns;
	*done_ns = to_ns;
	if (share_ns == whole_ns || share_ns == 0)
		return share_ns ? ns : 0;
	assert(to_ns <= whole_ns);
	return (uint64_t)((unsigned __int128)to_ns * share_ns / whole_ns) -
	       (uint64_t)((unsigned __int128)from_ns * share_ns / whole_ns);
}

/* --- Stretches --- */

static bool is_of_call(const struct thread_slices *slices, const struct moment *moment)
{
	enum moment_type type = moment_type(moment);
	if (type == MOMENT_WAIT_BEGIN || type == MOMENT_WAIT_END)
		return true;
	return (type == MOMENT_OP_BEGIN || type == MOMENT_OP_END) &&
	       words_is_call(slices->recording->ops[moment->index].kind);
}

static void cursor_skip(const struct thread_slices *slices, struct cursor *cursor)
{
	while (cursor->at < cursor->end && !is_of_call(slices, cursor->at))
		cursor->at++;
}

static void cursor_begin(struct thread_slices *slices, uint32_t thread, uint64_t start_ns)
{
	const struct timeline *timeline = slices->timeline;
	slices->cursor = (struct cursor){ .at = timeline->moments + timeline->first[thread],
					  .end = timeline->moments + timeline->first[thread + 1],
					  .now_ns = start_ns };
	cursor_skip(slices, &slices->cursor);
}

/* A call begins, or one that is open ends. */
static void cursor_take(struct thread_slices *slices, struct cursor *cursor)
{
	const struct moment *moment = cursor->at++;
	enum moment_type type = moment_type(moment);
	bool is_wait = type == MOMENT_WAIT_BEGIN || type == MOMENT_WAIT_END;
	cursor_skip(slices, cursor);
	if (type == MOMENT_WAIT_BEGIN || type == MOMENT_OP_BEGIN) {
		slices->open = memory_grow(slices->open, &slices->open_room, cursor->depth + 1,
					   sizeof(*slices->open));
		slices->open[cursor->depth++] = (struct open_call){ moment->index, is_wait };
		return;
	}
	for (size_t i = cursor->depth; i-- > 0;) {
		if (slices->open[i].index != moment->index || slices->open[i].is_wait != is_wait)
			continue;
		memmove(&slices->open[i], &slices->open[i + 1],
			(--cursor->depth - i) * sizeof(*slices->open));
		return;
	}
}

/* False: `to_ns` is reached. */
static bool stretch_next(struct thread_slices *slices, uint64_t to_ns, struct stretch *stretch)
{
	struct cursor *cursor = &slices->cursor;
	while (cursor->at < cursor->end && cursor->at->at_ns <= cursor->now_ns)
		cursor_take(slices, cursor);
	if (cursor->now_ns >= to_ns)
		return false;
	*stretch = (struct stretch){ .start_ns = cursor->now_ns,
				     .end_ns = to_ns,
				     .call = { .index = NO_INDEX } };
	if (cursor->at < cursor->end && cursor->at->at_ns < to_ns)
		stretch->end_ns = cursor->at->at_ns;
	if (cursor->depth > 0)
		stretch->call = slices->open[cursor->depth - 1];
	cursor->now_ns = stretch->end_ns;
	return true;
}

/* --- Pieces --- */

/* From the thread's first event to its last. */
static void find_span(struct thread_slices *slices, const struct rec_sample *samples, size_t count,
		      uint32_t thread, uint64_t *start_ns, uint64_t *end_ns)
{
	uint32_t op = slices->recording->threads[thread].op;
	*start_ns = UINT64_MAX;
	*end_ns = 0;
	if (op != NO_INDEX) {
		*start_ns = slices->recording->ops[op].start_ns;
		*end_ns = slices->recording->ops[op].end_ns;
	}
	if (count > 0) {
		*start_ns = samples[0].at_ns < *start_ns ? samples[0].at_ns : *start_ns;
		*end_ns = samples[count - 1].at_ns > *end_ns ? samples[count - 1].at_ns : *end_ns;
	}
	cursor_begin(slices, thread, 0);
	const struct cursor *cursor = &slices->cursor;
	if (op == NO_INDEX && cursor->at < cursor->end) {
		const struct moment *last = cursor->end - 1;
		while (!is_of_call(slices, last))
			last--;
		*start_ns = cursor->at->at_ns < *start_ns ? cursor->at->at_ns : *start_ns;
		*end_ns = last->at_ns > *end_ns ? last->at_ns : *end_ns;
	}
	if (*start_ns > *end_ns)
		*start_ns = *end_ns;
}

/* A piece to `end_ns`, in which the thread used so much CPU time. */
static void add_piece(struct thread_slices *slices, uint64_t end_ns, uint64_t cpu_ns,
		      uint64_t counted_ns)
{
	struct stretch stretch;
	struct piece piece = { .end_ns = end_ns, .counted_ns = counted_ns };
	uint64_t whole_ns = end_ns - slices->cursor.now_ns;
	while (stretch_next(slices, end_ns, &stretch))
		if (stretch.call.index != NO_INDEX)
			piece.called_ns += stretch.end_ns - stretch.start_ns;
	uint64_t used_ns = cpu_ns < whole_ns ? cpu_ns : whole_ns;
	uint64_t outside_ns = whole_ns - piece.called_ns;
	piece.running_ns = used_ns < outside_ns ? used_ns : outside_ns;
	piece.free_ns = outside_ns - piece.running_ns;
	piece.off_ns = piece.called_ns - (used_ns - piece.running_ns);
	slices->pieces = memory_grow(slices->pieces, &slices->piece_room, slices->piece_count + 1,
				     sizeof(*slices->pieces));
	slices->pieces[slices->piece_count++] = piece;
}

/* The kernel's count of waiting for a CPU, between the samples that know of it. */
struct queueing {
	uint64_t known_ns; /* counted so far */
	uint64_t last_ns;  /* counted in the end */
};

/* If the thread began in the recording, all that is known is of that. */
static struct queueing queueing_of(const struct thread_slices *slices, uint32_t thread,
				   const struct rec_sample *samples, size_t count)
{
	size_t first = 0, last = count;
	while (first < count && samples[first].queued_ns == 0)
		first++;
	while (last > first && samples[last - 1].queued_ns == 0)
		last--;
	if (first == last)
		return (struct queueing){ 0 };
	uint64_t known_ns = slices->startup_ns[thread] ? slices->queued_before_ns[thread]
						       : samples[first].queued_ns;
	uint64_t last_ns = samples[last - 1].queued_ns;
	return (struct queueing){ known_ns, last_ns > known_ns ? last_ns : known_ns };
}

/* The news of a sample. */
static uint64_t queueing_more(struct queueing *queueing, const struct rec_sample *sample)
{
	uint64_t before_ns = queueing->known_ns;
	uint64_t now_ns =
		sample->queued_ns < queueing->last_ns ? sample->queued_ns : queueing->last_ns;
	queueing->known_ns = now_ns > before_ns ? now_ns : before_ns;
	return queueing->known_ns - before_ns;
}

/* Gives queueing its time in a piece, as far as there is any; returns what is left over. */
static uint64_t queue_in(struct piece *piece, uint64_t queued_ns)
{
	uint64_t room_ns = piece->free_ns - piece->queued_ns;
	uint64_t part_ns = queued_ns < room_ns ? queued_ns : room_ns;
	piece->queued_ns += part_ns;
	return queued_ns - part_ns;
}

/* Spreads the queueing over what the calls of all pieces were not running. */
static void queue_in_calls(struct thread_slices *slices, uint64_t queued_ns)
{
	uint64_t all_ns = 0, done_ns = 0;
	for (size_t i = 0; i < slices->piece_count; i++)
		all_ns += slices->pieces[i].off_ns;
	uint64_t share_ns = queued_ns < all_ns ? queued_ns : all_ns;
	for (size_t i = 0; i < slices->piece_count; i++)
		slices->pieces[i].back_ns =
			part(&done_ns, slices->pieces[i].off_ns, share_ns, all_ns);
}

/* The kernel's count is as of late: what is new at a piece's end was in this piece, or before it.
 * A count that finds no room there was late itself, or is of calls. */
static void add_queueing(struct thread_slices *slices)
{
	uint64_t left_ns = 0;
	for (size_t i = slices->piece_count; i-- > 0;)
		left_ns = queue_in(&slices->pieces[i], left_ns + slices->pieces[i].counted_ns);
	for (size_t i = 0; i < slices->piece_count && left_ns > 0; i++)
		left_ns = queue_in(&slices->pieces[i], left_ns);
	queue_in_calls(slices, left_ns);
}

void thread_slices_begin(struct thread_slices *slices, uint32_t thread, uint64_t *start_ns,
			 uint64_t *end_ns)
{
	size_t count;
	uint64_t counted_ns = 0;
	const struct rec_sample *samples = samples_of_thread(slices->recording, thread, &count);
	struct queueing queueing = queueing_of(slices, thread, samples, count);
	find_span(slices, samples, count, thread, start_ns, end_ns);
	cursor_begin(slices, thread, *start_ns);
	slices->piece_count = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t cpu_ns = i > 0 && samples[i].cpu_ns > samples[i - 1].cpu_ns
					  ? samples[i].cpu_ns - samples[i - 1].cpu_ns
					  : 0;
		counted_ns += queueing_more(&queueing, &samples[i]);
		if (samples[i].at_ns <= slices->cursor.now_ns)
			continue;
		add_piece(slices, samples[i].at_ns, cpu_ns, counted_ns);
		counted_ns = 0;
	}
	if (*end_ns > slices->cursor.now_ns)
		add_piece(slices, *end_ns, 0, counted_ns);
	add_queueing(slices);
	cursor_begin(slices, thread, *start_ns);
	slices->piece = 0;
	slices->done = (struct done){ 0 };
	slices->ready_count = slices->ready_next = 0;
}

/* --- Slices --- */

static void make_ready(struct thread_slices *slices, uint64_t *at_ns, uint64_t ns,
		       enum slice_state state, const struct open_call *call)
{
	if (ns == 0)
		return;
	slices->ready[slices->ready_count++] =
		(struct thread_slice){ .start_ns = *at_ns,
				       .end_ns = *at_ns + ns,
				       .state = state,
				       .op = call->is_wait ? NO_INDEX : call->index,
				       .wait = call->is_wait ? call->index : NO_INDEX };
	*at_ns += ns;
}

/* A stretch becomes three slices at most. */
static void cut(struct thread_slices *slices, const struct piece *piece,
		const struct stretch *stretch)
{
	uint64_t at_ns = stretch->start_ns, ns = stretch->end_ns - at_ns;
	uint64_t outside_ns = piece->running_ns + piece->free_ns;
	const struct open_call *call = &stretch->call;
	slices->ready_count = slices->ready_next = 0;
	if (call->index != NO_INDEX) {
		uint64_t off_ns =
			part(&slices->done.called_ns, ns, piece->off_ns, piece->called_ns);
		uint64_t back_ns =
			part(&slices->done.off_ns, off_ns, piece->back_ns, piece->off_ns);
		make_ready(slices, &at_ns, ns - off_ns, SLICE_RUNNING, call);
		make_ready(slices, &at_ns, off_ns - back_ns, SLICE_BLOCKED, call);
		make_ready(slices, &at_ns, back_ns, SLICE_QUEUED, call);
	} else {
		uint64_t running_ns =
			part(&slices->done.outside_ns, ns, piece->running_ns, outside_ns);
		uint64_t queued_ns = part(&slices->done.free_ns, ns - running_ns, piece->queued_ns,
					  piece->free_ns);
		make_ready(slices, &at_ns, running_ns, SLICE_RUNNING, call);
		make_ready(slices, &at_ns, queued_ns, SLICE_QUEUED, call);
		make_ready(slices, &at_ns, ns - running_ns - queued_ns, SLICE_UNEXPLAINED, call);
	}
}

bool thread_slices_next(struct thread_slices *slices, struct thread_slice *slice)
{
	struct stretch stretch;
	while (slices->ready_next == slices->ready_count) {
		if (slices->piece == slices->piece_count)
			return false;
		const struct piece *piece = &slices->pieces[slices->piece];
		if (stretch_next(slices, piece->end_ns, &stretch)) {
			cut(slices, piece, &stretch);
		} else {
			slices->piece++;
			slices->done = (struct done){ 0 };
		}
	}
	*slice = slices->ready[slices->ready_next++];
	return true;
}

struct thread_slices *thread_slices_new(const struct recording *recording,
					const struct timeline *timeline)
{
	struct thread_slices *slices = memory_new(1, sizeof(*slices));
	slices->recording = recording;
	slices->timeline = timeline;
	slices->startup_ns = startup_find(recording);
	slices->queued_before_ns = startup_queued_before(recording);
	return slices;
}

void thread_slices_free(struct thread_slices *slices)
{
	free(slices->startup_ns);
	free(slices->queued_before_ns);
	free(slices->open);
	free(slices->pieces);
	free(slices);
}
