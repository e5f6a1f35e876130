/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that sleep and look, again and again, until another thread has got somewhere.
 *
 * The number of such sleeps follows from that other thread, which no record names: the row ends at
 * the first look after its cause. Where no cause is found, the sleeps stay as many as they were.
 */
#ifndef WCPROF_LOOKS_H
#define WCPROF_LOOKS_H

#include "flows.h"
#include "recording/classes.h"
#include "recording/recording.h"
#include "recording/timeline.h"

enum look_sort {
	LOOK_WORK,  /* no looks at all: rows that are given have another sort */
	LOOK_KEPT,  /* for something that is not found */
	LOOK_GUESS, /* another thread did something during the last sleep for the first time */
	LOOK_SURE,  /* it was no chance, or one of both then waited for the other one's end */
	LOOK_TOLD,  /* rounds of work: another one set a flag, and waited for the thread's end */
	LOOK_LOCKED /* it found a file locked before each sleep, and not after the last one */
};

struct look_row {
	uint32_t thread;
	uint32_t class; /* of the sleeps */
	uint32_t first; /* of the sleeps: ops, the ends included */
	uint32_t last;
	uint32_t count;
	uint64_t first_ns; /* when the first one began */
	uint32_t ender;    /* thread that did something during the last one of them */
	uint64_t mark_ns;  /* when that was: the next look finds it */
	/* Of a row for locks, which has no ender: these of looks.locks. */
	uint32_t first_lock;
	uint32_t lock_count;
	uint32_t hold; /* of a file's lock, the first one after it; NO_INDEX = it is no such row */
	uint32_t first_size; /* of its class, in looks.sizes */
	uint32_t size_count;
	enum look_sort sort;
	/* LOOK_TOLD: */
	bool is_guess;  /* it may have had a fixed number of rounds as well */
	bool naps_once; /* it looks behind its sleeps, not before: it slept once more */
	uint32_t post;  /* link by which it says that it ends; NO_INDEX = by none */
};

/* A lock that a row found taken: for reading or for writing. */
struct look_lock {
	uint64_t address;
	uint32_t lock; /* its number in the script, which is set there; NO_INDEX = none */
	bool is_read;
	bool has_share; /* the row's own thread reads it, and wants it alone */
};

struct looks {
	struct look_row *rows; /* by thread, then time */
	size_t count;
	struct look_lock *locks;
	size_t lock_count;
	double *sizes; /* by class, what the first sleep of a row is to last, the second one, ... */
	size_t size_count;
};

void looks_build(struct looks *looks, const struct recording *recording,
		 const struct class_table *classes, const struct timeline *timeline,
		 const struct flows *flows);
void looks_free(struct looks *looks);

/* The last lock that a row found taken, as the script numbers it; NO_INDEX = it is for no lock. */
static inline uint32_t looks_lock(const struct looks *looks, uint32_t row)
{
	const struct look_row *its = &looks->rows[row];

	return its->lock_count ? looks->locks[its->first_lock + its->lock_count - 1].lock
			       : NO_INDEX;
}

/* If the row had some sleeps more, from 1 on: the last of them, times the last one that it had. */
double looks_growth(const struct looks *looks, const struct look_row *row, uint32_t more);

/* The row that an op of its thread is in; NULL = in none. */
const struct look_row *looks_of(const struct looks *looks, const struct recording *recording,
				uint32_t op_index);

#endif
