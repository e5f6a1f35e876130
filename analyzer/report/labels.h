/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels: names for the ops, waits and stacks of a recording, by its stacks and the symbols of its
 * files.
 *
 * Read-only after labels_build. One thread.
 */
#ifndef WCPROF_LABELS_H
#define WCPROF_LABELS_H

#include "base/options.h"
#include "infer/shares.h"
#include "measure/spins.h"
#include "names/callers.h"
#include "names/classby.h"
#include "names/framenames.h"
#include "names/packages.h"

/* Files whose addresses have no names, and why; a path is the first one of its sort. */
struct unnamed_files {
	const char *missing_path; /* string of the recording, NULL = none */
	const char *other_path;
	size_t missing_count;
	size_t other_count;
};

/* Any may be NULL: as recorded. */
struct labels {
	uint32_t *ops;     /* string id per op: what it is */
	uint32_t *classes; /* string id per op: the class that it counts to */
	uint32_t *waits;   /* string id per wait */
	uint32_t *sites;   /* string id per stack of a hold or wait */
	struct stack_functions functions;
	struct frame_names frames; /* of the stacks of samples */
	struct packages packages;  /* if a report or an export wants them */
	struct unnamed_files unnamed;
	struct spins spins;
};

/* Adds strings to the recording. Without threads there are no stacks, and no labels. */
void labels_build(struct labels *labels, struct recording *recording, const struct options *options,
		  const struct callers_options *skips, enum class_by by);
void labels_free(struct labels *labels);

#endif
