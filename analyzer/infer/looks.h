/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that sleep and look, again and again, until another thread has got somewhere.
 *
 * The number of such sleeps follows from that other thread, which no record names: the row ends at
 * the first look after its cause. Where no cause is found, the sleeps stay as many as they were.
 */
#ifndef WCPROF_LOOKS_H
#define WCPROF_LOOKS_H

#include "recording/classes.h"
#include "recording/recording.h"
#include "recording/timeline.h"

enum look_sort {
	LOOK_WORK,  /* no looks at all: rows that are given have another sort */
	LOOK_KEPT,  /* for something that is not found */
	LOOK_GUESS, /* another thread did something during the last sleep for the first time */
	LOOK_SURE   /* it was no chance, or one of both then waited for the other one's end */
};

struct look_row {
	uint32_t thread;
	uint32_t class; /* of the sleeps */
	uint32_t first; /* of the sleeps: ops, the ends included */
	uint32_t last;
	uint32_t count;
	uint32_t ender;   /* thread that did something during the last one of them */
	uint64_t mark_ns; /* when that was: the next look finds it */
	enum look_sort sort;
};

struct looks {
	struct look_row *rows; /* by thread, then time */
	size_t count;
};

void looks_build(struct looks *looks, const struct recording *recording,
		 const struct class_table *classes, const struct timeline *timeline);
void looks_free(struct looks *looks);

/* The row that an op of its thread is in; NULL = in none. */
const struct look_row *looks_of(const struct looks *looks, const struct recording *recording,
				uint32_t op_index);

#endif
