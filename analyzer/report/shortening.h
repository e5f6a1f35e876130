/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the report on requests that says what would make them shorter.
 *
 * A saving whose range holds 0 is printed as ~0. A figure that cannot be known is left out, with
 * the cause. One thread.
 */
#ifndef WCPROF_SHORTENING_H
#define WCPROF_SHORTENING_H

#include "ask/estimate.h"
#include "base/emit.h"
#include "requestfigures.h"

struct analysis;

void shortening_emit(const struct analysis *analysis, struct emit *emit);

/* The saving is known, and its range does not hold 0. */
bool shortening_is_told(const struct shortened *saved);

/* A cell of text: "4.12 ms  31.0%", "~0", or "-" = not known, or withheld. */
void shortening_emit_saved(const struct analysis *analysis, struct emit *emit,
			   enum request_figure figure, const struct estimate *estimate);

/* Text: how long the judged requests took, recorded and replayed unchanged; savings are of the
 * latter. Nothing where there are none. */
void shortening_print_base(const struct analysis *analysis, struct emit *emit);

enum { SHORTENING_CAUSE_BYTES = 160 };

/* Savings of the figure may be shown; else `cause` says why not, in a clause: "the replay ..." */
bool shortening_is_given(const struct analysis *analysis, const struct request_figures *recorded,
			 enum request_figure figure, char cause[SHORTENING_CAUSE_BYTES]);

#endif
