/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds pieces that threads share out; pieces.h has the contract.
 *
 * Method. A stint is what a thread does between two waits for other threads. Its calls are of one
 * family with those that other stints have in common with it. Stints of a family that overlap are a
 * round. A piece begins with a call that also begins a stint. Threads that wait for their turn at a
 * lock take pieces all the same.
 *
 * Work that is shared out is there for whoever is free. So all last pieces have begun before the
 * first thread of the round is idle. A thread may lose its CPU before it sees that nothing is left.
 * It has seen it at its next wait, its next yield or its end. Work that was given out beforehand
 * may look so by chance. How likely that is the time tells in which a thread could have ended, as a
 * part of the round. Where all threads make the same number of pieces it makes no difference.
 *
 * One thread.
 */
#include "pieces.h"

#include <math.h>
#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "stints.h"

enum { PIECES_EACH_LEAST = 2 }; /* of a round's threads on average: one each are not shared out */

/* A stint as a part of a round. */
struct part {
	const struct stint *stint;
	uint64_t last_taken_ns; /* it was free to begin its last piece */
	size_t head;            /* element with which its first piece begins */
	uint32_t family;
	uint32_t pieces;
};

/* Of what a family's rounds tell. */
struct evidence {
	double log_chance; /* of all rounds that look shared out */
	size_t shared;     /* pieces in such rounds */
	size_t others;     /* pieces elsewhere */
	bool differs;      /* threads make different numbers of pieces */
};

struct search {
	const struct timeline *timeline;
	struct stints stints;
	struct part *parts;        /* of each stint */
	uint32_t *family;          /* by class: one of the same family; the first one has itself */
	bool *is_head;             /* by class */
	size_t *seen_in;           /* by class: 1 + a stint that has it */
	struct evidence *evidence; /* by family */
	size_t mark_capacity;
	size_t round_capacity;
};

/* --- families --- */

static uint32_t family_of(uint32_t *family, uint32_t class)
{
	while (family[class] != class) {
		family[class] = family[family[class]];
		class = family[class];
	}
	return class;
}

static const struct element *elements_of(const struct search *search, const struct part *part)
{
	return search->stints.elements + part->stint->first;
}

/* Threads of different work may take the same lock: only calls make a family. */
static void family_join(struct search *search, struct part *part)
{
	const struct element *elements = elements_of(search, part);

	part->family = NO_INDEX;
	for (size_t i = 0; i < part->stint->count; i++) {
		if (elements[i].is_hold)
			continue;
		uint32_t family = family_of(search->family, elements[i].class);

		if (part->family != NO_INDEX)
			search->family[family] = part->family;
		else
			part->family = family;
	}
}

/* Calls that are made only once come before the pieces. */
static void head_find(struct search *search, struct part *part)
{
	const struct element *elements = elements_of(search, part);
	size_t number = (size_t)(part - search->parts) + 1;

	for (size_t i = part->stint->count; i-- > 0;) {
		size_t *seen_in = &search->seen_in[elements[i].class];

		if (*seen_in == number)
			part->head = i;
		*seen_in = number;
	}
	search->is_head[elements[part->head].class] = true;
}

static void pieces_count(const struct search *search, struct part *part)
{
	const struct element *elements = elements_of(search, part);
	const struct moment *moments = search->timeline->moments;
	size_t count = part->stint->count;

	while (part->head < count && !search->is_head[elements[part->head].class])
		part->head++;
	for (size_t i = part->head; i < count; i++)
		if (search->is_head[elements[i].class]) {
			part->pieces++;
			part->last_taken_ns =
				i ? moments[elements[i - 1].last].at_ns : part->stint->begin_ns;
		}
}

static int compare_parts(const void *left, const void *right)
{
	const struct part *a = left, *b = right;
	const struct stint *one = a->stint, *other = b->stint;

	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (one->begin_ns != other->begin_ns)
		return one->begin_ns < other->begin_ns ? -1 : 1;
	return (one->first > other->first) - (one->first < other->first);
}

static void families_find(struct search *search, uint32_t class_count)
{
	size_t count = search->stints.count;

	search->family = memory_new(class_count, sizeof(*search->family));
	search->is_head = memory_new(class_count, sizeof(*search->is_head));
	search->seen_in = memory_new(class_count, sizeof(*search->seen_in));
	search->evidence = memory_new(class_count, sizeof(*search->evidence));
	search->parts = memory_new(count, sizeof(*search->parts));
	for (uint32_t i = 0; i < class_count; i++)
		search->family[i] = i;
	for (size_t i = 0; i < count; i++) {
		search->parts[i].stint = &search->stints.all[i];
		family_join(search, &search->parts[i]);
	}
	for (size_t i = 0; i < count; i++) {
		struct part *part = &search->parts[i];

		if (part->family != NO_INDEX)
			part->family = family_of(search->family, part->family);
		head_find(search, part);
	}
	for (size_t i = 0; i < count; i++)
		pieces_count(search, &search->parts[i]);
	if (count)
		qsort(search->parts, count, sizeof(*search->parts), compare_parts);
}

/* --- rounds --- */

/* Parts that go on at one time, from the first one on. */
static size_t round_size(const struct part *parts, size_t count)
{
	uint64_t end_ns = parts[0].stint->end_ns;
	size_t size = 1;

	while (size < count && parts[size].stint->process == parts[0].stint->process &&
	       parts[size].family == parts[0].family && parts[size].stint->begin_ns < end_ns) {
		if (parts[size].stint->end_ns < end_ns)
			end_ns = parts[size].stint->end_ns;
		size++;
	}
	return size;
}

struct sums {
	uint64_t first_idle_ns;
	uint64_t last_taken_ns;
	const struct stint *last; /* to end */
	size_t pieces;
	uint32_t least;
	uint32_t most;
	bool is_cut;
};

static struct sums sums_of(const struct part *parts, size_t size)
{
	struct sums sums = { .first_idle_ns = UINT64_MAX,
			     .last = parts[0].stint,
			     .least = UINT32_MAX };

	for (const struct part *part = parts; part < parts + size; part++) {
		const struct stint *stint = part->stint;

		if (stint->idle_ns < sums.first_idle_ns)
			sums.first_idle_ns = stint->idle_ns;
		if (stint->end_ns > sums.last->end_ns)
			sums.last = stint;
		if (part->last_taken_ns > sums.last_taken_ns)
			sums.last_taken_ns = part->last_taken_ns;
		sums.pieces += part->pieces;
		sums.least = part->pieces < sums.least ? part->pieces : sums.least;
		sums.most = part->pieces > sums.most ? part->pieces : sums.most;
		sums.is_cut |= stint->is_cut || !part->pieces;
	}
	return sums;
}

static bool looks_shared(const struct sums *sums, size_t size)
{
	return size > 1 && !sums->is_cut && sums->pieces >= PIECES_EACH_LEAST * size &&
	       sums->last_taken_ns <= sums->first_idle_ns;
}

/* That nobody ends before the last piece has begun, had the last calls ended at any time. */
static double log_chance_of(const struct part *parts, size_t size, const struct sums *sums)
{
	double window_ns = (double)(sums->last->end_ns - sums->last_taken_ns);
	double length_ns = (double)(sums->last->end_ns - parts[0].stint->begin_ns);
	double log_chance = 0;

	for (const struct part *part = parts; part < parts + size; part++) {
		double late_ns = (double)(part->stint->idle_ns - part->stint->end_ns);

		if (part->stint != sums->last)
			log_chance += log(fmin(1, (window_ns + late_ns) / length_ns));
	}
	return log_chance;
}

static void round_tells(struct search *search, const struct part *parts, size_t size)
{
	const struct sums sums = sums_of(parts, size);
	struct evidence *evidence = &search->evidence[parts->family];

	if (!looks_shared(&sums, size)) {
		evidence->others += sums.pieces;
		return;
	}
	evidence->log_chance += log_chance_of(parts, size, &sums);
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

static void part_mark(struct search *search, struct pieces *pieces, const struct part *part)
{
	const struct element *elements = elements_of(search, part);
	const struct moment *moments = search->timeline->moments;
	size_t count = part->stint->count;

	for (size_t i = part->head; i <= count; i++) {
		bool is_first = i == part->head;
		size_t moment = is_first ? elements[i].first : elements[i - 1].last;

		if (i < count && !search->is_head[elements[i].class])
			continue;
		mark_add(search, pieces,
			 (struct piece_mark){ .at_ns = moments[moment].at_ns,
					      .moment = moment,
					      .is_first = is_first,
					      .piece = i < count ? 0 : NO_INDEX });
	}
}

static void round_add(struct search *search, struct pieces *pieces, const struct part *parts,
		      size_t size)
{
	const struct sums sums = sums_of(parts, size);
	const struct evidence *evidence = &search->evidence[parts->family];

	if (!is_shared_out(evidence) || !looks_shared(&sums, size))
		return;
	for (size_t i = 0; i < size; i++)
		part_mark(search, pieces, &parts[i]);
	pieces->rounds = memory_grow(pieces->rounds, &search->round_capacity,
				     pieces->round_count + 1, sizeof(*pieces->rounds));
	pieces->rounds[pieces->round_count++] =
		(struct round){ .family = parts->family,
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
	struct search search = { .timeline = timeline };
	size_t count;

	*pieces = (struct pieces){ 0 };
	stints_build(&search.stints, rec, classes, timeline, thread_count);
	count = search.stints.count;
	families_find(&search, (uint32_t)classes->count);
	for (size_t i = 0, size; i < count; i += size) {
		size = round_size(search.parts + i, count - i);
		if (search.parts[i].family != NO_INDEX)
			round_tells(&search, search.parts + i, size);
	}
	for (size_t i = 0, size; i < count; i += size) {
		size = round_size(search.parts + i, count - i);
		if (search.parts[i].family != NO_INDEX)
			round_add(&search, pieces, search.parts + i, size);
	}
	pieces_number(pieces);
	stints_free(&search.stints);
	free(search.parts);
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
