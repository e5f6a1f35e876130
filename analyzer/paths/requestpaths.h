/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of each request's latency: a vector that adds up to it, to the nanosecond.
 *
 * A request's path goes back in time, from its end to its arrival, through the stretches in which
 * threads worked for its connection. A wait that another thread ended is explained by what that
 * thread did meanwhile: the path goes there, and comes back where the wait began. A wait for a lock
 * is explained by the holds of that time. While its thread was at another request, or at work that
 * is nobody's, the request was queued behind that.
 *
 * A request that its own thread asked of somebody is one part, downstream. Its own vector goes
 * through the other end, if that is recorded. So does that of a traced request, which is of all
 * processes.
 *
 * Memory: 56 bytes for each slice of threads' time, and 12 for each part of each request. Time is
 * linear: sums of stretches are looked up, and the changes of threads are bounded. Built once,
 * read-only afterwards. One thread.
 */
#ifndef WCPROF_REQUESTPATHS_H
#define WCPROF_REQUESTPATHS_H

#include "infer/requests.h"
#include "names/framenames.h"
#include "pathparts.h"
#include "script/wakers.h"

/* All stay in place until the paths are built. */
struct request_paths_of {
	const struct recording *recording;
	const struct timeline *timeline;
	const struct wakers *wakers;
	const struct requests *requests;
	const struct class_table *classes;
	const struct frame_names *frames; /* NULL = functions have no names */
	const uint32_t *waits;            /* string id per wait; NULL = as recorded */
	const uint32_t *sites;            /* string id per stack; NULL = not known */
};

struct request_paths {
	struct path_parts parts;
	/* Request r has parts [first[r], first[r + 1]), those with most time first. */
	size_t *first;
	uint32_t *part; /* numbers */
	uint64_t *ns;   /* not 0 */
	size_t count;   /* requests */
};

void request_paths_build(struct request_paths *paths, const struct request_paths_of *of);
void request_paths_free(struct request_paths *paths);

/* Each vector adds up to its request's time. */
bool request_paths_are_valid(const struct request_paths *paths, const struct requests *requests);

#endif
