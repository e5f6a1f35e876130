/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every report has in common: one function from the analysis to an emit.
 */
#ifndef WCPROF_REPORT_H
#define WCPROF_REPORT_H

#include "analysis.h"
#include "emit.h"

#define REPORT(name, question) \
	void report_##name(const struct analysis *analysis, struct emit *emit);
#include "reports.def"

/* All of them, in order, as one document. */
void report_all(const struct analysis *analysis, struct emit *emit);

/* The factor that sentences speak of: a half when that was tried, else the smallest. */
size_t report_sentence_factor(const struct factor_list *list);

/* In place of a table of answers that would mislead: why, and what to do. */
void report_withheld(const struct analysis *analysis, struct emit *emit);

#endif
