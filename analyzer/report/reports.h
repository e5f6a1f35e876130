/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports, in the order of reports.def, as one document: all, those that --show names, or the
 * first screen.
 *
 * One thread; an analysis is only read.
 */
#ifndef WCPROF_REPORTS_H
#define WCPROF_REPORTS_H

#include "report.h"

/* Of --show: 0, or -EINVAL with a line in `error` that says which word is none. */
int reports_check(const struct options *, char error[OPTIONS_ERROR_BYTES]);

void reports_print(const struct analysis *analysis, struct emit *emit);

/* Those that options->show names; "" is all of them. For a terminal "" is the first screen: the
 * answer, a few of the best classes, and which other reports there are. */
void reports_print_shown(const struct analysis *analysis, struct emit *emit, bool is_terminal);

#endif
