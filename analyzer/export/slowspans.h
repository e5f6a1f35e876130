/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow requests of a recording, or the slow calls of a class, as stretches of their threads;
 * and the others.
 *
 * Slow are those that took at least as long as the percentile. A stretch is of the thread that the
 * request, or the call, began on. A request that a recorded program asks another one has a second
 * one, of the thread that has read it there. Calls within another one of the class are a part of
 * that. Built once, read-only afterwards.
 */
#ifndef WCPROF_SLOWSPANS_H
#define WCPROF_SLOWSPANS_H

#include "walk.h"

struct slow_span {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t taken_ns; /* by its request */
	uint32_t thread;
	bool is_slow;
	bool is_second;
};

struct slow_spans {
	struct slow_span *spans; /* by thread, each in order of begin */
	size_t span_count;
	size_t count; /* of requests or calls */
	size_t slow_count;
	uint64_t slow_from_ns; /* the percentile itself */
	uint64_t longest_ns;   /* stretch */
};

/* Time of something inside of slow ones, and of others. */
struct slow_time {
	uint64_t slow_ns;
	uint64_t other_ns;
};

/* The requests by which hypotheses are judged. */
void slow_spans_of_requests(struct slow_spans *spans, const struct requests *requests,
			    double percent);
/* Calls that ended, of the classes that a shell pattern fits. */
void slow_spans_of_class(struct slow_spans *spans, const struct recording *recording,
			 const struct class_table *classes, const char *pattern, double percent);
void slow_spans_free(struct slow_spans *spans);

/* Adds the time that the slice has within each of them. */
void slow_spans_add(const struct slow_spans *spans, const struct walk_slice *slice,
		    struct slow_time *time);

#endif
