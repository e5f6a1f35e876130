/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the sleeps of rows are, by their place in the row; looks.h has the contract.
 *
 * Method. Programs back off: each sleep of a row may be longer than the one before. A class has one
 * such sequence. Its n-th sleep is the median of what the n-th ones of its rows were to last.
 */
#include "looks_parts.h"

#include <stdlib.h>

#include "base/memory.h"
#include "format.h"

/* A sleep of a row. */
struct nap {
	uint32_t class;
	uint32_t place; /* in its row, from 0 on */
	double asked_ns;
};

struct naps {
	struct nap *naps;
	size_t count;
	size_t capacity;
};

static int compare_naps(const void *left, const void *right)
{
	const struct nap *a = left, *b = right;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->asked_ns > b->asked_ns) - (a->asked_ns < b->asked_ns);
}

/* Those of one thread, in order of time. */
static void naps_of(struct naps *naps, const struct look_search *found, uint32_t thread)
{
	const struct recording *recording = found->recording;
	const struct timeline *timeline = found->timeline;
	const struct look_row *row = NULL;
	uint32_t place = 0;

	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
		const struct moment *moment = &timeline->moments[i];
		enum moment_type type = moment_type(moment);
		uint32_t op = moment->index;

		if ((type != MOMENT_OP_BEGIN && type != MOMENT_OP_POINT) ||
		    recording->ops[op].kind != KIND_SLEEP)
			continue;
		const struct look_row *its = looks_of(found->looks, recording, op);
		if (!its || found->classes->of_op[op] != its->class)
			continue;
		place = its == row ? place + 1 : 0;
		row = its;
		naps->naps = memory_grow(naps->naps, &naps->capacity, naps->count + 1,
					 sizeof(*naps->naps));
		naps->naps[naps->count++] =
			(struct nap){ .class = its->class,
				      .place = place,
				      .asked_ns = (double)recording->extras[op].amount };
	}
}

static void class_takes(struct looks *looks, uint32_t class, uint32_t first)
{
	for (size_t i = 0; i < looks->count; i++)
		if (looks->rows[i].class == class) {
			looks->rows[i].first_size = first;
			looks->rows[i].size_count = (uint32_t)looks->size_count - first;
		}
}

void look_sizes_find(const struct look_search *found)
{
	struct looks *looks = found->looks;
	struct naps naps = { .count = 0 };

	for (uint32_t thread = 0; thread < found->timeline->thread_count; thread++)
		naps_of(&naps, found, thread);
	if (naps.count)
		qsort(naps.naps, naps.count, sizeof(*naps.naps), compare_naps);
	looks->sizes = memory_new(naps.count, sizeof(*looks->sizes));
	for (size_t i = 0, first = 0, end; i < naps.count; i = end) {
		for (end = i + 1; end < naps.count && naps.naps[end].class == naps.naps[i].class &&
				  naps.naps[end].place == naps.naps[i].place;)
			end++;
		looks->sizes[looks->size_count++] = naps.naps[(i + end) / 2].asked_ns;
		if (end < naps.count && naps.naps[end].class == naps.naps[i].class)
			continue;
		class_takes(looks, naps.naps[i].class, (uint32_t)first);
		first = looks->size_count;
	}
	free(naps.naps);
}

double looks_growth(const struct looks *looks, const struct look_row *row, uint32_t more)
{
	if (!row->size_count)
		return 1;
	const double *sizes = looks->sizes + row->first_size;
	uint32_t last = row->size_count - 1, place = row->count - 1;

	if (place >= last || sizes[place] <= 0)
		return 1;
	return sizes[more < last - place ? place + more : last] / sizes[place];
}
