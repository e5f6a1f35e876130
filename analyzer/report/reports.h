/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All reports, in the order of reports.def, as one document.
 *
 * One thread; an analysis is only read.
 */
#ifndef WCPROF_REPORTS_H
#define WCPROF_REPORTS_H

#include "report.h"

void reports_print(const struct analysis *analysis, struct emit *emit);

#endif
