/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds pieces that threads share out; pieces.h has the contract.
 *
 * Method. A stretch is what a thread does between two waits for other threads. Its calls are of
 * one family with those that other stretches have in common with it. Stretches of a family that
 * overlap are a round. A piece begins with a call that also begins a stretch.
 *
 * Work that is shared out is there for whoever is free. So nobody ends his part of the round while
 * a piece is left to begin: all last pieces have begun before the first thread ends. Work that was
 * given out beforehand may look so by chance. How likely that is the time tells in which a thread
 * could have ended, as a part of the round. Where all threads make the same number of pieces it
 * makes no difference.
 *
 * One thread.
 */
#include "pieces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"

enum { PIECES_EACH_LEAST = 2 }; /* of a round's threads on average: one each are not shared out */

/* A call that no other one is around, or a hold with all that is under it. */
struct element {
	size_t first; /* moment; of a hold, where its thread began to wait for the lock */
	size_t last;
	uint32_t class;
	bool is_hold;
};

struct stretch {
	uint64_t begin_ns;
	uint64_t end_ns;        /* of its last call */
	uint64_t last_taken_ns; /* it was free to begin its last piece */
	size_t first;           /* element */
	size_t count;
	size_t head; /* element with which its first piece begins */
	uint32_t thread;
	uint32_t process;
	uint32_t family;
	uint32_t pieces;
	bool is_cut; /* a wait is inside of a call, or the recording ended before it */
};

/* Of what a family's rounds tell. */
struct evidence {
	double log_chance; /* of all rounds that look shared out */
	size_t shared;     /* pieces in such rounds */
	size_t others;     /* pieces elsewhere */
	bool differs;      /* threads make different numbers of pieces */
};

struct search {
	const struct recording *rec;
	const struct class_table *classes;
	const struct timeline *timeline;
	struct element *elements;
	size_t element_count;
	size_t element_capacity;
	struct stretch *stretches;
	size_t stretch_count;
	size_t stretch_capacity;
	uint32_t *family;          /* by class: one of the same family; the first one has itself */
	bool *is_head;             /* by class */
	size_t *seen_in;           /* by class: 1 + a stretch that has it */
	struct evidence *evidence; /* by family */
	size_t mark_capacity;
	size_t round_capacity;
};

/* The thread whose moments are looked at. */
struct walk {
	struct stretch stretch;
	size_t open;      /* ops */
	size_t lock_wait; /* moment, NO_MOMENT = the last one was for nothing that follows */
};

#define NO_MOMENT SIZE_MAX

/* --- stretches --- */

/* Threads that wait for their turn take pieces all the same. */
static bool is_for_lock(const struct rec_wait *wait)
{
	return wait->reason == REASON_MUTEX || wait->reason == REASON_RWLOCK_READ ||
	       wait->reason == REASON_RWLOCK_WRITE;
}

/* Looks for something to do, and does nothing. */
static bool is_idle(const struct recording *rec, const struct rec_op *op)
{
	return op->kind == KIND_SLEEP && !strcmp(rec->strings[op->name], "sched_yield");
}

static void stretch_begins(struct search *search, struct walk *walk, uint64_t at_ns)
{
	walk->stretch.begin_ns = at_ns;
	walk->stretch.first = search->element_count;
	walk->stretch.is_cut = walk->open > 0;
	walk->lock_wait = NO_MOMENT;
}

static void stretch_ends(struct search *search, struct walk *walk, bool is_cut)
{
	struct stretch *stretch = &walk->stretch;

	stretch->count = search->element_count - stretch->first;
	stretch->is_cut |= is_cut || walk->open > 0;
	if (!stretch->count)
		return;
	search->stretches = memory_grow(search->stretches, &search->stretch_capacity,
					search->stretch_count + 1, sizeof(*search->stretches));
	search->stretches[search->stretch_count++] = *stretch;
}

static void op_begins(struct search *search, struct walk *walk, size_t at, uint32_t op)
{
	const struct rec_op *begun = &search->rec->ops[op];

	if (walk->open || is_idle(search->rec, begun))
		return;
	search->elements = memory_grow(search->elements, &search->element_capacity,
				       search->element_count + 1, sizeof(*search->elements));
	search->elements[search->element_count++] =
		(struct element){ .first = walk->lock_wait != NO_MOMENT ? walk->lock_wait : at,
				  .last = at,
				  .class = search->classes->of_op[op],
				  .is_hold = begun->kind == KIND_HOLD };
	walk->lock_wait = NO_MOMENT;
}

static void op_ends(struct search *search, const struct walk *walk, size_t at, uint32_t op)
{
	if (!walk->open && search->element_count > walk->stretch.first &&
	    !is_idle(search->rec, &search->rec->ops[op]))
		search->elements[search->element_count - 1].last = at;
}

static void look_at(struct search *search, struct walk *walk, size_t at)
{
	const struct moment *moment = &search->timeline->moments[at];
	enum moment_type type = moment_type(moment);

	switch (type) {
	case MOMENT_OP_BEGIN:
	case MOMENT_OP_POINT:
		op_begins(search, walk, at, moment->index);
		walk->open += type == MOMENT_OP_BEGIN;
		break;
	case MOMENT_OP_END:
		walk->open -= walk->open > 0;
		op_ends(search, walk, at, moment->index);
		break;
	case MOMENT_WAIT_BEGIN:
	case MOMENT_WAIT_POINT:
		if (!is_for_lock(&search->rec->waits[moment->index])) {
			stretch_ends(search, walk, false);
			stretch_begins(search, walk, moment->at_ns);
		} else if (!walk->open && walk->lock_wait == NO_MOMENT) {
			walk->lock_wait = at;
		}
		break;
	case MOMENT_WAIT_END:
		if (!is_for_lock(&search->rec->waits[moment->index]))
			stretch_begins(search, walk, moment->at_ns);
		break;
	case MOMENT_LINK:
		break;
	}
}

static void stretches_find(struct search *search, uint32_t thread)
{
	const struct recording *rec = search->rec;
	size_t at = search->timeline->first[thread], end = search->timeline->first[thread + 1];
	uint32_t op = rec->threads[thread].op;
	struct walk walk = { .stretch = { .thread = thread,
					  .process = rec->threads[thread].process } };

	if (at == end)
		return;
	stretch_begins(search, &walk,
		       op != NO_INDEX ? rec->ops[op].start_ns
				      : search->timeline->moments[at].at_ns);
	for (; at < end; at++)
		look_at(search, &walk, at);
	stretch_ends(search, &walk, op == NO_INDEX || rec->extras[op].open);
}

/* --- families --- */

static uint32_t family_of(uint32_t *family, uint32_t class)
{
	while (family[class] != class) {
		family[class] = family[family[class]];
		class = family[class];
	}
	return class;
}

/* Threads of different work may take the same lock: only calls make a family. */
static void family_join(struct search *search, struct stretch *stretch)
{
	const struct element *elements = search->elements + stretch->first;

	stretch->family = NO_INDEX;
	for (size_t i = 0; i < stretch->count; i++) {
		if (elements[i].is_hold)
			continue;
		uint32_t family = family_of(search->family, elements[i].class);

		if (stretch->family != NO_INDEX)
			search->family[family] = stretch->family;
		else
			stretch->family = family;
	}
}

/* Calls that are made only once come before the pieces. */
static void head_find(struct search *search, struct stretch *stretch)
{
	const struct element *elements = search->elements + stretch->first;
	size_t number = (size_t)(stretch - search->stretches) + 1;

	for (size_t i = stretch->count; i-- > 0;) {
		size_t *seen_in = &search->seen_in[elements[i].class];

		if (*seen_in == number)
			stretch->head = i;
		*seen_in = number;
	}
	search->is_head[elements[stretch->head].class] = true;
}

static void pieces_count(const struct search *search, struct stretch *stretch)
{
	const struct element *elements = search->elements + stretch->first;
	const struct moment *moments = search->timeline->moments;

	while (stretch->head < stretch->count && !search->is_head[elements[stretch->head].class])
		stretch->head++;
	for (size_t i = stretch->head; i < stretch->count; i++)
		if (search->is_head[elements[i].class]) {
			stretch->pieces++;
			stretch->last_taken_ns =
				i ? moments[elements[i - 1].last].at_ns : stretch->begin_ns;
		}
	stretch->end_ns = moments[elements[stretch->count - 1].last].at_ns;
}

static int compare_stretches(const void *left, const void *right)
{
	const struct stretch *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static void families_find(struct search *search)
{
	uint32_t count = (uint32_t)search->classes->count;

	search->family = memory_new(count, sizeof(*search->family));
	search->is_head = memory_new(count, sizeof(*search->is_head));
	search->seen_in = memory_new(count, sizeof(*search->seen_in));
	search->evidence = memory_new(count, sizeof(*search->evidence));
	for (uint32_t i = 0; i < count; i++)
		search->family[i] = i;
	for (size_t i = 0; i < search->stretch_count; i++)
		family_join(search, &search->stretches[i]);
	for (size_t i = 0; i < search->stretch_count; i++) {
		struct stretch *stretch = &search->stretches[i];

		if (stretch->family != NO_INDEX)
			stretch->family = family_of(search->family, stretch->family);
		head_find(search, stretch);
	}
	for (size_t i = 0; i < search->stretch_count; i++)
		pieces_count(search, &search->stretches[i]);
	if (search->stretch_count)
		qsort(search->stretches, search->stretch_count, sizeof(*search->stretches),
		      compare_stretches);
}

/* --- rounds --- */

/* Stretches that go on at one time, from the first one on. */
static size_t round_size(const struct stretch *stretches, size_t count)
{
	uint64_t end_ns = stretches[0].end_ns;
	size_t size = 1;

	while (size < count && stretches[size].process == stretches[0].process &&
	       stretches[size].family == stretches[0].family && stretches[size].begin_ns < end_ns) {
		if (stretches[size].end_ns < end_ns)
			end_ns = stretches[size].end_ns;
		size++;
	}
	return size;
}

struct sums {
	uint64_t first_end_ns;
	uint64_t last_end_ns;
	uint64_t last_taken_ns;
	size_t pieces;
	uint32_t least;
	uint32_t most;
	bool is_cut;
};

static struct sums sums_of(const struct stretch *stretches, size_t size)
{
	struct sums sums = { .first_end_ns = UINT64_MAX, .least = UINT32_MAX };

	for (size_t i = 0; i < size; i++) {
		const struct stretch *stretch = &stretches[i];

		if (stretch->end_ns < sums.first_end_ns)
			sums.first_end_ns = stretch->end_ns;
		if (stretch->end_ns > sums.last_end_ns)
			sums.last_end_ns = stretch->end_ns;
		if (stretch->last_taken_ns > sums.last_taken_ns)
			sums.last_taken_ns = stretch->last_taken_ns;
		sums.pieces += stretch->pieces;
		sums.least = stretch->pieces < sums.least ? stretch->pieces : sums.least;
		sums.most = stretch->pieces > sums.most ? stretch->pieces : sums.most;
		sums.is_cut |= stretch->is_cut || !stretch->pieces;
	}
	return sums;
}

static bool looks_shared(const struct sums *sums, size_t size)
{
	return size > 1 && !sums->is_cut && sums->pieces >= PIECES_EACH_LEAST * size &&
	       sums->last_taken_ns <= sums->first_end_ns;
}

static void round_tells(struct search *search, const struct stretch *stretches, size_t size)
{
	const struct sums sums = sums_of(stretches, size);
	struct evidence *evidence = &search->evidence[stretches->family];

	if (!looks_shared(&sums, size)) {
		evidence->others += sums.pieces;
		return;
	}
	double window_ns = (double)(sums.last_end_ns - sums.last_taken_ns);
	double length_ns = (double)(sums.last_end_ns - stretches->begin_ns);

	evidence->log_chance += (double)(size - 1) * log(window_ns / length_ns);
	evidence->shared += sums.pieces;
	/* One more is what a remainder gives. */
	evidence->differs |= sums.most - sums.least > 1;
}

static bool is_shared_out(const struct evidence *evidence)
{
	size_t all = evidence->shared + evidence->others;

	return evidence->differs && (double)evidence->others <= assume.pieces_misfits * (double)all;
}

static void mark_add(struct search *search, struct pieces *pieces, struct piece_mark mark)
{
	pieces->marks = memory_grow(pieces->marks, &search->mark_capacity, pieces->mark_count + 1,
				    sizeof(*pieces->marks));
	mark.round = (uint32_t)pieces->round_count;
	pieces->marks[pieces->mark_count++] = mark;
}

static void stretch_mark(struct search *search, struct pieces *pieces,
			 const struct stretch *stretch)
{
	const struct element *elements = search->elements + stretch->first;
	const struct moment *moments = search->timeline->moments;

	for (size_t i = stretch->head; i <= stretch->count; i++) {
		bool is_first = i == stretch->head;
		size_t moment = is_first ? elements[i].first : elements[i - 1].last;

		if (i < stretch->count && !search->is_head[elements[i].class])
			continue;
		mark_add(search, pieces,
			 (struct piece_mark){ .at_ns = moments[moment].at_ns,
					      .moment = moment,
					      .is_first = is_first,
					      .piece = i < stretch->count ? 0 : NO_INDEX });
	}
}

static void round_add(struct search *search, struct pieces *pieces, const struct stretch *stretches,
		      size_t size)
{
	const struct sums sums = sums_of(stretches, size);
	const struct evidence *evidence = &search->evidence[stretches->family];

	if (!is_shared_out(evidence) || !looks_shared(&sums, size))
		return;
	for (size_t i = 0; i < size; i++)
		stretch_mark(search, pieces, &stretches[i]);
	pieces->rounds = memory_grow(pieces->rounds, &search->round_capacity,
				     pieces->round_count + 1, sizeof(*pieces->rounds));
	pieces->rounds[pieces->round_count++] =
		(struct round){ .family = stretches->family,
				.is_sure = evidence->log_chance <= log(assume.pieces_chance) };
}

/* By round, then time; ends last. */
static int compare_begins(const void *left, const void *right)
{
	const struct piece_mark *a = left, *b = right;
	bool a_ends = a->piece == NO_INDEX, b_ends = b->piece == NO_INDEX;

	if (a_ends != b_ends)
		return a_ends - b_ends;
	if (a->round != b->round)
		return a->round < b->round ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->moment > b->moment) - (a->moment < b->moment);
}

static int compare_marks(const void *left, const void *right)
{
	const struct piece_mark *a = left, *b = right;

	if (a->moment != b->moment)
		return a->moment < b->moment ? -1 : 1;
	return b->is_first - a->is_first;
}

static void pieces_number(struct pieces *pieces)
{
	struct piece_mark *marks = pieces->marks;

	if (!pieces->mark_count)
		return;
	qsort(marks, pieces->mark_count, sizeof(*marks), compare_begins);
	for (size_t i = 0; i < pieces->mark_count && marks[i].piece != NO_INDEX; i++) {
		struct round *round = &pieces->rounds[marks[i].round];

		if (!round->count++)
			round->first = (uint32_t)i;
		marks[i].piece = (uint32_t)i;
		pieces->piece_count = i + 1;
	}
	qsort(marks, pieces->mark_count, sizeof(*marks), compare_marks);
}

void pieces_build(struct pieces *pieces, const struct recording *rec,
		  const struct class_table *classes, const struct timeline *timeline,
		  size_t thread_count)
{
	struct search search = { .rec = rec, .classes = classes, .timeline = timeline };

	*pieces = (struct pieces){ 0 };
	for (uint32_t t = 0; t < thread_count; t++)
		stretches_find(&search, t);
	families_find(&search);
	for (size_t i = 0, size; i < search.stretch_count; i += size) {
		size = round_size(search.stretches + i, search.stretch_count - i);
		if (search.stretches[i].family != NO_INDEX)
			round_tells(&search, search.stretches + i, size);
	}
	for (size_t i = 0, size; i < search.stretch_count; i += size) {
		size = round_size(search.stretches + i, search.stretch_count - i);
		if (search.stretches[i].family != NO_INDEX)
			round_add(&search, pieces, search.stretches + i, size);
	}
	pieces_number(pieces);
	free(search.elements);
	free(search.stretches);
	free(search.family);
	free(search.is_head);
	free(search.seen_in);
	free(search.evidence);
}

void pieces_free(struct pieces *pieces)
{
	free(pieces->rounds);
	free(pieces->marks);
	*pieces = (struct pieces){ 0 };
}
