/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints all reports in the order of reports.def.
 */
#include "report.h"

void report_all(const struct analysis *analysis, struct emit *emit)
{
#define REPORT(name, question) report_##name(analysis, emit);
#include "reports.def"
}
