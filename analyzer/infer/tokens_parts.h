/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by tokens.c (studies conditions one by one) and tokens_models.c (tries models on them).
 * Private to them.
 */
#ifndef WCPROF_TOKENS_PARTS_H
#define WCPROF_TOKENS_PARTS_H

#include "tokens.h"

/* Of few values: sites or threads. */
struct set {
	uint64_t *values;
	size_t count;
	size_t capacity;
};

static inline bool set_has(const struct set *set, uint64_t value)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->values[i] == value)
			return true;
	return false;
}

static inline bool sets_meet(const struct set *a, const struct set *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (set_has(b, a->values[i]))
			return true;
	return false;
}

/* Everything known of one condition while its model is sought. */
struct study {
	struct monitors *monitors;
	const struct recording *rec;
	uint32_t condition;
	const uint32_t *waits; /* on it */
	size_t wait_count;
	const uint32_t *sections; /* of its mutex */
	size_t section_count;
	uint32_t *links; /* its signals, in order of time */
	size_t link_count;
	uint64_t last_wait_ns; /* when the last wait began */
	uint32_t depth;        /* which kind of site counts */
	bool gives_up;         /* a section takes nothing if its last wait timed out */
	bool in_vain;          /* nor if it waited, and its thread comes back at once */
	struct set takers;     /* sites */
	struct set putters;    /* sites */
	struct set taking_threads;
	struct set putting_threads;
	const uint64_t *last_link_ns; /* by thread: when it last let somebody go */
};

/* It was let go, but another thread had come first; or the recording ends as it waits. */
static inline bool section_waits_in_vain(const struct study *study, const struct section *section)
{
	return section->last_wait != NO_INDEX && (study->rec->waits[section->last_wait].open ||
						  (section->goes_again && study->in_vain));
}

static inline bool section_takes(const struct study *study, const struct section *section)
{
	bool gives_up = section->last_wait != NO_INDEX && study->gives_up &&
			study->rec->waits[section->last_wait].timed_out;
	bool took_none = gives_up || section_waits_in_vain(study, section);

	return !took_none && set_has(&study->takers, section->site[study->depth]);
}

/* How well a model of putting goes with the recording. */
struct token_fit {
	enum put_model model;
	double violations; /* share of waits that began although tokens were there */
	uint32_t initial;
	uint64_t left_over; /* tokens at the end, or that nobody had put */
};

/* The best model for sites of the study's depth. */
struct token_fit tokens_choose_model(const struct study *);

/* A fit that obeys the recording is better than one that does not. Of several that obey, the best
 * one accounts for most of what was put and taken; then fewer tokens at the start are better. */
bool tokens_is_better(const struct token_fit *, const struct token_fit *);

/* With the best model: notes how many each take got, and waits for, where a take takes all. Or that
 * it does, if that is not in the model. */
void tokens_note_batches(const struct study *, const struct token_fit *best);

/* Each thread puts one for each that it takes: what they take is a limit, or a turn, and no job. */
bool tokens_are_given_back(const struct study *, enum put_model);

/* The median time from the signal, or the lock's release behind it, to the wait's return. */
void tokens_find_latency(const struct study *, const struct releases *);

#endif
