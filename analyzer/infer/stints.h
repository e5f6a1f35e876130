/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stints: what a thread does between two waits for other threads, as far as it is recorded.
 *
 * Threads that wait for their turn at a lock are not held to wait for others, unless they give up.
 * Built once, read-only afterwards.
 */
#ifndef WCPROF_STINTS_H
#define WCPROF_STINTS_H

#include "recording/classes.h"
#include "recording/timeline.h"

/* A call that no other one is around, or a hold with all that is under it. */
struct element {
	size_t first; /* moment; of a hold, where its thread began to wait for the lock */
	size_t last;
	uint32_t class;
	bool is_hold;
};

struct stint {
	uint64_t begin_ns;
	uint64_t end_ns;  /* of its last element */
	uint64_t idle_ns; /* its next yield, wait or end */
	size_t first;     /* element; one at least */
	size_t count;
	uint32_t thread;
	uint32_t process;
	bool is_cut; /* a wait is inside of a call, or the recording ended before it */
};

struct stints {
	struct element *elements;
	size_t element_count;
	struct stint *all; /* by thread, then by time */
	size_t count;
};

/* Of the first `thread_count` threads. */
void stints_build(struct stints *, const struct recording *, const struct class_table *,
		  const struct timeline *, size_t thread_count);
void stints_free(struct stints *);

#endif
