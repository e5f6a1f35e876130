/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activities of threads in a stretch of time, state by state, with the threads that ended waits.
 *
 * Memory: the timeline of the recording. The analysis stays in place. One thread.
 */
#ifndef WCPROF_ACTIVITIES_H
#define WCPROF_ACTIVITIES_H

#include "measure/threadslices.h"

struct analysis;

struct activity {
	uint64_t start_ns;
	uint64_t end_ns;
	enum slice_state state;
	const char *what; /* the call, the thing waited for, or the thread's class; "" = nothing */
	uint32_t waker;   /* thread whose event ended it; NO_INDEX = not known, or none */
};

struct activities;

struct activities *activities_new(const struct analysis *analysis);
void activities_free(struct activities *activities);

/* Of one thread in this time, in order of time, the `most` longest; the rest is in `left_out_ns`.
 * To be freed. */
struct activity *activities_of(struct activities *activities, uint32_t thread, uint64_t from_ns,
			       uint64_t to_ns, size_t most, size_t *count, uint64_t *left_out_ns);

/* "running" ... */
const char *activities_word(enum slice_state state);

#endif
