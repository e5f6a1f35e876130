/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof-analyze --diff: what changed between two builds, by their recordings.
 *
 * Of a side's recordings one is in memory at a time. One thread, but for the replays.
 */
#ifndef WCPROF_DIFF_H
#define WCPROF_DIFF_H

#include "base/emit.h"
#include "causes.h"
#include "compare.h"
#include "settings.h"
#include "sides.h"

enum { DIFF_OLD, DIFF_NEW, DIFF_SIDES };

enum diff_outcome {
	DIFF_NOT_WORSE, /* no difference was found, or NEW is better */
	DIFF_WORSE,
	DIFF_UNSURE, /* it differs, perhaps not by the program: settings.disturbed has the reason */
	DIFF_UNTOLD  /* the two cannot be compared: settings.refusal has the reason */
};

/* It may not be moved. */
struct diff {
	const struct options *options;
	enum diff_unit unit;
	char *request; /* name of the op that requests begin with; "" = the unit is the run */
	struct settings settings;
	struct costs costs[DIFF_SIDES];
	struct comparison comparison; /* empty if it is untold */
	struct causes causes;         /* the same */
	enum diff_outcome outcome;
};

/* Of options->paths, which are two. 0, or -errno with a line in `error`: then there is nothing to
 * free. */
int diff_build(struct diff *diff, const struct options *options, char error[SIDES_ERROR_BYTES]);
void diff_free(struct diff *diff);

void diff_print(const struct diff *diff, struct emit *emit);

#endif
