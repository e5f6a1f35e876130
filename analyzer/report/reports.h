/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports, in the order of reports.def, as one document: all, those that were asked for, or
 * the first screen.
 *
 * One thread; an analysis is only read.
 */
#ifndef WCPROF_REPORTS_H
#define WCPROF_REPORTS_H

#include "report.h"

/*
 * Which reports --show, --all or a first argument that names reports and no file ask for; such an
 * argument is then no dump any more. 0, or -EINVAL with a line in `error`: a word is none of them.
 */
int reports_choose(struct options *, char error[OPTIONS_ERROR_BYTES]);

void reports_print(const struct analysis *analysis, struct emit *emit);

/* Those that options->show names. "" is all of them in JSON, and in text the first screen: answer,
 * a few of the best classes, names of the other reports. */
void reports_print_shown(const struct analysis *analysis, struct emit *emit);

#endif
