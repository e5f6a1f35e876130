/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time was spent: the self time of every op, and its distribution per class.
 *
 * An op's self time is its interval without its children's and its waits' intervals. Built once
 * from a graph and its classes, read-only afterwards.
 */
#ifndef WCPROF_SELFTIME_H
#define WCPROF_SELFTIME_H

#include "base/percentile.h"
#include "recording/classes.h"
#include "recording/graph.h"

struct outcome_count {
	uint32_t outcome; /* word id */
	uint32_t count;
};

struct class_times {
	struct percentiles self; /* over the class's ops */
	uint64_t total_wall_ns;
	uint64_t duplicate_executions; /* of one ident, beyond the first */
	uint32_t first_outcome;        /* into selftime.outcomes, up to the next class's */
};

struct selftime {
	uint64_t *self_ns;              /* per op */
	struct class_times *classes;    /* per class, and one more that ends the outcomes */
	struct outcome_count *outcomes; /* class by class, in the order of the words */
	uint32_t *by_total;             /* class indexes, largest total self time first */
};

void selftime_build(struct selftime *selftime, const struct graph *graph,
		    const struct class_table *classes);
void selftime_free(struct selftime *selftime);

#endif
