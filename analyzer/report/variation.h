/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second opinion on the replay's answers, from the recording's own variation, held against them.
 *
 * Read-only after variation_build. One thread.
 */
#ifndef WCPROF_VARIATION_H
#define WCPROF_VARIATION_H

#include "measure/sensitivity.h"
#include "replay/replayer.h"

/* Savings are those if the class took no time. */
struct variation_row {
	uint32_t class;
	double saved_ns; /* by what varied */
	double error_ns; /* standard error of that */
	/* By the replay: from each factor, in proportion. */
	double replay_least_ns;
	double replay_most_ns;
	double apart_ns; /* beyond what both may be off by */
};

struct variation {
	struct variation_row *rows; /* of classes that vary enough to tell */
	size_t row_count;
	uint32_t worst; /* row: the farthest apart, NO_INDEX = none is */
	struct sensitivity sensitivity;
};

struct analysis;

/* After the answers. */
void variation_build(struct variation *variation, const struct analysis *analysis,
		     const struct replayer *replayer);
void variation_free(struct variation *variation);

#endif
