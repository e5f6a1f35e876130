/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits by reason, resource, and the class of the op waited for.
 *
 * Built once, read-only afterwards.
 */
#ifndef WCPROF_WAITS_H
#define WCPROF_WAITS_H

#include "base/percentile.h"
#include "recording/classes.h"
#include "recording/graph.h"

struct wait_class {
	uint16_t reason;       /* word id */
	uint32_t name;         /* string id: the resource, "" = not said */
	uint32_t target_class; /* class index, NO_INDEX = no known target */
	uint32_t count;
	uint32_t timed_out_count;
	uint32_t open_count; /* had not ended when the dump was taken */
	struct percentiles times;
};

struct wait_table {
	struct wait_class *rows; /* largest total first */
	uint32_t count;
	uint64_t total_ns;
	uint64_t untargeted_ns; /* of that, in waits with no known target */
};

/* `wait_name` has a string id per wait; NULL takes each wait's own ident. */
void wait_table_build(struct wait_table *table, const struct graph *graph,
		      const struct class_table *classes, const uint32_t *wait_name);
void wait_table_free(struct wait_table *table);

#endif
