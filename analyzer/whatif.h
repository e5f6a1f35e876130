/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would a fix buy? Every class as a hypothesis, at every factor, by whichever replay there is.
 *
 * Read-only after whatif_build, which runs the replay on several threads and joins them.
 */
#ifndef WCPROF_WHATIF_H
#define WCPROF_WHATIF_H

#include "replayer.h"
#include "selftime.h"

struct whatif_options {
	const double *factors;
	size_t factor_count;
	uint64_t min_self_ns;      /* hypotheses that weigh less are left out */
	size_t hypothesis_count;   /* classes, and what the replayer knows beyond; 0 = classes */
	const uint64_t *weight_ns; /* of each, at most to be saved; NULL = a class's self time */
	const bool *is_wanted;     /* of each; NULL = all */
	size_t thread_count;       /* 0 = one per CPU */
};

struct whatif_row {
	uint32_t class;
	double *saved_ns; /* per factor: baseline - makespan; whole, negative = slower */
};

struct whatif {
	struct whatif_row *rows; /* the largest saving at the smallest factor first */
	size_t row_count;
	double *saved_ns; /* what the rows point into */
	struct replay_answer baseline;
};

void whatif_build(struct whatif *whatif, const struct replayer *replayer,
		  const struct class_table *classes, const struct selftime *selftime,
		  const struct whatif_options *options);
void whatif_free(struct whatif *whatif);

#endif
