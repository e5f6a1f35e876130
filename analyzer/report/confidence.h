/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One word for a whole analysis: how sure its answers are, from all checks.
 *
 *   sure      no check fails
 *   fair      one does, or one that matters could not be made, or the best answer's range is wide
 *   withheld  one fails by so much that answers would mislead
 *
 * Any thread, as an analysis is only read.
 */
#ifndef WCPROF_CONFIDENCE_H
#define WCPROF_CONFIDENCE_H

#include <stddef.h>

#include "analysis.h"

enum confidence { CONFIDENCE_SURE, CONFIDENCE_FAIR, CONFIDENCE_WITHHELD };

enum { CONFIDENCE_BYTES = 2 * CHECK_LINE_BYTES };

/* `why` gets the reason, with what to do about it; "" for what is sure. */
enum confidence confidence_of(const struct analysis *analysis, char why[CONFIDENCE_BYTES]);

const char *confidence_word(enum confidence confidence);

/* The class that saves most at that factor; NULL = there is none. */
const struct whatif_row *confidence_best(const struct analysis *analysis, size_t factor);

/* The row's range is so wide that it may as well save something else. */
bool confidence_is_wide(const struct analysis *analysis, const struct whatif_row *row,
			size_t factor);

/* The surest answer of the recording's own variation that the replay does not give: a row of
 * analysis.variation, NULL = there is none. */
const struct variation_row *confidence_other_answer(const struct analysis *analysis);

#endif
