/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that find rows of looks, and private to them: looks.c finds the sleeps,
 * looks_causes.c what another thread did that ended them. looks_locks.c has those for locks on
 * files, looks_retries.c those that back off. looks_told.c has those with work in them, and
 * looks_sizes.c how far. One thread.
 */
#ifndef WCPROF_LOOKS_PARTS_H
#define WCPROF_LOOKS_PARTS_H

#include "format.h"
#include "looks.h"

/* Sleeps that follow each other. */
struct run {
	uint32_t first;   /* op, NO_INDEX = none */
	uint32_t last[3]; /* the last one first */
	uint32_t count;
	uint32_t shorter; /* of these: for less than the one before */
	size_t next;      /* moment after the last one */
	bool is_tight;    /* only looks are between them */
};

/* The rows, with the runs of sleeps that they are. */
struct look_search {
	struct looks *looks;
	const struct recording *recording;
	const struct class_table *classes;
	const struct timeline *timeline;
	const struct flows *flows;
	struct run *runs; /* by row */
};

/* looks_locks.c: the rows that wait for locks on files, in empty looks. Returns by op which sleeps
 * are in them, to be freed; NULL = none. */
bool *look_locks_find(struct looks *looks, const struct recording *recording,
		      const struct class_table *classes, const struct timeline *timeline);

/* looks_retries.c: sleeps between tries that fail, and are in no row yet; in empty looks. */
void look_retries_find(struct looks *looks, const struct look_search *search);

/* looks_told.c: rounds of work with sleeps until a flag says stop, of threads that have no other
 * rows; in empty looks. */
void look_told_find(struct looks *looks, const struct look_search *search);

/* How many locks a thread has after one of its moments, if it had so many before it. */
static inline uint32_t look_locks_held(const struct recording *recording,
				       const struct moment *moment, uint32_t held)
{
	enum moment_type type = moment_type(moment);

	if ((type != MOMENT_OP_BEGIN && type != MOMENT_OP_END) ||
	    recording->ops[moment->index].kind != KIND_HOLD)
		return held;
	return type == MOMENT_OP_BEGIN ? held + 1 : held - (held > 0);
}

/* looks_ended.c: calls and sleeps, by their ends. */
struct look_ends {
	const struct look_search *found;
	uint32_t *ops;
	size_t count;
};

void look_ends_find(struct look_ends *ends, const struct look_search *found);
void look_ends_free(struct look_ends *ends);

/* Sleeps of a class, by thread and time, of which some follow the one before in a row. Whether rows
 * end with what other threads do. */
bool look_rows_are_ended(const struct look_ends *ends, const uint32_t *sleeps, const bool *follows,
			 uint32_t count);

/* looks_sizes.c: the sizes of all rows, which are complete. */
void look_sizes_find(const struct look_search *search);

/* looks_causes.c: fills in the sort of each row, its ender and when. */
void look_causes_find(const struct look_search *search);

#endif
