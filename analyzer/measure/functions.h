/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time by function, and by the class of the op in which it ran, from samples.
 *
 * A sample stands for the CPU time that its thread used since the sample before. Built once,
 * read-only afterwards.
 */
#ifndef WCPROF_FUNCTIONS_H
#define WCPROF_FUNCTIONS_H

#include "names/framenames.h"
#include "recording/classes.h"
#include "recording/recording.h"

enum { FUNCTION_STACK_MAX = 1024 }; /* functions of one stack, with those inlined */

struct function_time {
	uint32_t function; /* string id; 0 = the stack has no names */
	uint32_t class;    /* of the op, NO_INDEX = not known */
	uint32_t samples;  /* in which it is the innermost */
	uint64_t self_ns;  /* it ran itself */
	uint64_t total_ns; /* it, or what it called */
};

struct function_table {
	struct function_time *rows; /* most self time first */
	uint32_t count;
	uint64_t sample_count;
	uint64_t total_ns; /* CPU time of all samples */
};

/* `names` may be NULL; then there is one row for each class. */
void function_table_build(struct function_table *table, const struct recording *recording,
			  const struct class_table *classes, const struct frame_names *names);
void function_table_free(struct function_table *table);

/*
 * CPU time that sample `index` of the recording stands for: since the last sample with a stack on
 * the same thread, or its first mark. 0 for a sample without a stack.
 */
struct sample_weights {
	const struct recording *recording;
	size_t index;
	uint64_t last_cpu_ns;
};
uint64_t sample_weight_next(struct sample_weights *weights);

#endif
