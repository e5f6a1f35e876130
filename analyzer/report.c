/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints all reports in the order of reports.def; what several of them say.
 */
#include "report.h"

void report_all(const struct analysis *analysis, struct emit *emit)
{
#define REPORT(name, question) report_##name(analysis, emit);
#include "reports.def"
}

void report_withheld(const struct analysis *analysis, struct emit *emit)
{
	const struct check *check = &analysis->checks.rows[analysis->checks.gravest];
	emit_strong_line(emit, "Withheld (%s %.1f%%, at most %g%% will do): %s; --force shows it",
			 check_name(analysis->checks.gravest), check->value,
			 check_withheld_above(analysis->checks.gravest), check->line);
}
