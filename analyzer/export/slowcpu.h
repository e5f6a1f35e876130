/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for CPU time: threads by their start routines, functions by ranges of code.
 *
 * A function's class is its time with that of its callees. Its code is that of the functions that
 * ran in samples of it, if they mostly ran there. One thread.
 */
#ifndef WCPROF_SLOWCPU_H
#define WCPROF_SLOWCPU_H

#include <stdio.h>

#include "infer/shares.h"
#include "names/framenames.h"
#include "recording/classes.h"

/* The names that samples have. */
struct slow_samples {
	const struct recording *recording;
	const struct stack_functions *functions; /* of stacks */
	const struct frame_names *names;         /* of frames */
};

/* A stretch of code, as distances from its module's start. */
struct slow_range {
	uint32_t path; /* string id: of the module */
	uint32_t name; /* string id: of the function */
	uint64_t from;
	uint64_t to;
	uint64_t ns;     /* in the class, by samples */
	uint64_t all_ns; /* in any */
};

struct slow_ranges {
	struct slow_range *ranges;
	size_t count;
	double covered_percent;
	double purity_percent;
};

/* Of the function of that name. None: no sample tells where it ran. */
void slow_ranges_build(struct slow_ranges *ranges, const struct slow_samples *samples,
		       uint32_t function);
void slow_ranges_free(struct slow_ranges *ranges);

/* Write shares and rules, as members of a JSON object: of the function; of the threads of marked
 * classes. */
void slow_ranges_put(FILE *file, const struct slow_samples *samples, uint32_t function);
void slow_routines_put(FILE *file, const struct recording *recording,
		       const struct class_table *classes, const bool *is_marked);

#endif
