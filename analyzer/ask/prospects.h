/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is behind the best answers: where a gain stops, what is the limit then, and how sure it is.
 *
 * Fills in the rows of a what-if that is otherwise done.
 */
#ifndef WCPROF_PROSPECTS_H
#define WCPROF_PROSPECTS_H

#include "whatif.h"

enum { PROSPECT_ROWS = 10 }; /* the best ones are looked into */

/* `smallest` is the index of the smallest factor; rows are ranked by it. */
void prospects_build(struct whatif *whatif, const struct replayer *replayer,
		     const struct whatif_options *options, size_t smallest);

#endif
