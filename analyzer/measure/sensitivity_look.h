/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of classes that vary, and ops that cut the recording. Private to sensitivity.c.
 */
#ifndef WCPROF_SENSITIVITY_LOOK_H
#define WCPROF_SENSITIVITY_LOOK_H

#include "base/regression.h"
#include "sensitivity.h"

enum {
	PROGRESS_MAX = 3, /* progress ops that are tried */
	STRETCHES_LEAST = 30,
	OPS_LEAST = 3, /* a stretch has of its progress op */
	PARTS_MAX = REGRESSORS_MAX - 1
};

struct candidate {
	uint32_t class;
	uint32_t first, end; /* its ops in the list of all */
	uint32_t part_count; /* of the class, each a candidate */
	double weight;       /* progress: ops, times the part of the run over which they come */
	uint64_t self_ns;
	uint64_t median_ns;
};

struct looked {
	const struct sensitivity_of *of;
	struct candidate parts[PARTS_MAX]; /* of classes to be answered for */
	size_t part_count;
	uint32_t *by_class; /* ops, class by class */
	uint32_t *first;    /* by class: of its ops there; and one more */
	struct candidate progress[PROGRESS_MAX];
	size_t progress_count;
};

void sensitivity_look(struct looked *, const struct sensitivity_of *);
void sensitivity_looked_free(struct looked *);

#endif
