/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints one report after the other; reports.h has the contract.
 */
#include "reports.h"

void reports_print(const struct analysis *analysis, struct emit *emit)
{
#define REPORT(name, question) report_##name(analysis, emit);
#include "reports.def"
}
