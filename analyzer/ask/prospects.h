/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is behind the best answers: where a gain stops, and what is the limit then.
 *
 * Fills in the rows of a what-if that is otherwise done.
 */
#ifndef WCPROF_PROSPECTS_H
#define WCPROF_PROSPECTS_H

#include "whatif.h"

/* `smallest` is the index of the smallest factor; rows are ranked by it. */
void prospects_build(struct whatif *whatif, struct estimator *estimator,
		     const struct whatif_options *options, size_t smallest);

#endif
