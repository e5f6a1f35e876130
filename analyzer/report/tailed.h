/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail of an analysis's requests against their body, by the parts of their paths; and what a
 * thread did during a request.
 *
 * One thread.
 */
#ifndef WCPROF_TAILED_H
#define WCPROF_TAILED_H

#include "measure/tail.h"
#include "paths/pathparts.h"
#include "recording/recording.h"

struct analysis;

struct tailed {
	struct tail tail;   /* keys are parts of the analysis's paths */
	uint32_t *requests; /* index of each, as the tail numbers them: in order of their begin */
};

struct options;

/* A percentile that may be asked for; 0 = the text is none. */
double tailed_percent(const char *text);
/* The one that --tail asks for; 99 if it is not given. */
double tailed_asked(const struct options *options);

/* False: there are no requests, or nobody asked for their paths. */
bool tailed_build(struct tailed *tailed, const struct analysis *analysis, double percent);
void tailed_free(struct tailed *tailed);

/* A stretch of a thread's time in one state. */
struct tailed_slice {
	uint64_t start_ns;
	uint64_t end_ns;
	const char *state; /* "running" ... */
	const char *what;  /* the call, the thing waited for, or the thread's class; "" = nothing */
	uint32_t waker;    /* thread whose event ended it; NO_INDEX = not known, or none */
};

/* Of the request's own thread, in order of time, the `most` longest; the rest is in `left_out_ns`.
 * To be freed. */
struct tailed_slice *tailed_slices(const struct analysis *analysis, uint32_t request, size_t most,
				   size_t *count, uint64_t *left_out_ns);

#endif
