/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that end each time right after another thread has done something: it is what they wait for,
 * though no record says so.
 */
#ifndef WCPROF_ENDERS_H
#define WCPROF_ENDERS_H

#include "recording/classes.h"
#include "recording/recording.h"

/* Doings of threads that may end another one's wait, by time. */
struct doing {
	uint64_t at_ns;
	uint32_t thread;
};

struct doings {
	struct doing *doings;
	size_t count;
};

/* `is_doing`: ops that send something away, at their begin; threads' ends and links come on top. */
void doings_build(struct doings *doings, const struct recording *recording, const bool *is_doing);
void doings_free(struct doings *doings);

/* The thread that most of a thread's calls of the class seem to wait for; NO_INDEX: they are too
 * few, or end otherwise. Only calls in `is_wait` count. */
uint32_t enders_find(const struct doings *doings, const struct recording *recording,
		     const struct class_table *classes, const bool *is_wait, uint32_t thread,
		     uint32_t class);

#endif
