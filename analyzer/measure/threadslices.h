/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of one thread after the other, cut into slices: on a CPU, waiting for one, blocked in a
 * call, unexplained.
 *
 * A thread's slices come in order of time and without gaps, from its first event to its last. All
 * sums of a thread's time are sums over them. A call inside another one counts, not the outer one.
 * The time that a thread was on a CPU is known between two of its samples only, not when. So it is
 * spread: over the time outside calls in proportion, and over the calls if there is more of it.
 *
 * Memory: the open calls and the samples of one thread. One thread.
 */
#ifndef WCPROF_THREADSLICES_H
#define WCPROF_THREADSLICES_H

#include "recording/timeline.h"

enum slice_state {
	SLICE_RUNNING,
	SLICE_QUEUED, /* waiting for a CPU, also as it comes back from a call */
	SLICE_BLOCKED,
	SLICE_UNEXPLAINED
};

enum { SLICE_STATES = SLICE_UNEXPLAINED + 1 };

struct thread_slice {
	uint64_t start_ns;
	uint64_t end_ns; /* later than start_ns */
	enum slice_state state;
	uint32_t op;   /* the call that the thread is in; NO_INDEX = none */
	uint32_t wait; /* or the wait; NO_INDEX = none */
};

struct thread_slices;

/* Both stay in place. */
struct thread_slices *thread_slices_new(const struct recording *, const struct timeline *);
void thread_slices_free(struct thread_slices *);

/* The slices of this thread are next. `start_ns` and `end_ns`: for as long it lived. */
void thread_slices_begin(struct thread_slices *, uint32_t thread, uint64_t *start_ns,
			 uint64_t *end_ns);
/* False: there are no more of them. */
bool thread_slices_next(struct thread_slices *, struct thread_slice *);

#endif
