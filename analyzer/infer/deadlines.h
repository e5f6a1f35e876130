/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps until a point in time: whether those points are a schedule of their own, or were computed
 * from the time it was.
 *
 * A schedule goes on as it is, whatever else gets faster: a program that follows it ends no sooner.
 * A deadline that is computed from now is a sleep of so long. A schedule begins when the program
 * comes to it: one distance before its first deadline.
 */
#ifndef WCPROF_DEADLINES_H
#define WCPROF_DEADLINES_H

#include "recording/classes.h"
#include "recording/recording.h"

struct deadline_origin {
	uint32_t thread;
	uint64_t at_ns;
};

struct deadlines {
	bool *is_scheduled;              /* by op: a sleep until a time of its thread's schedule */
	struct deadline_origin *origins; /* where schedules begin, by thread, then time */
	size_t origin_count;
};

void deadlines_find(struct deadlines *deadlines, const struct recording *recording,
		    const struct class_table *classes);
void deadlines_free(struct deadlines *deadlines);

#endif
