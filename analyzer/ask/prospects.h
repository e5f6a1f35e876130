/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the gain of the best answers stops, and which class is the limit then.
 *
 * Fills in the rows of a what-if that is otherwise done. Called by whatif_build alone, on one
 * thread, and joins those that it starts.
 */
#ifndef WCPROF_PROSPECTS_H
#define WCPROF_PROSPECTS_H

#include "whatif.h"

/* `smallest` is the index of the smallest factor; rows are ranked by it. */
void prospects_build(struct whatif *whatif, struct estimator *estimator,
		     const struct whatif_options *options, size_t smallest);

#endif
