/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what do the best classes save at every tenth of their time? JSON alone, and with --html.
 */
#include "report.h"

void report_curves(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "class" },    { .key = "kind" },           { .key = "factor" },
		{ .key = "saved_ns" }, { .key = "saved_least_ns" }, { .key = "saved_most_ns" },
	};
	const struct curves *curves = &analysis->curves;
	size_t count = analysis->checks.is_withheld ? 0 : curves->count;
	if (emit->format != EMIT_JSON)
		return;
	emit_table_begin(emit, "curves", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < count; i++) {
		const struct curve_point *point = &curves->points[i];
		emit_row_begin(emit);
		emit_cell_text(emit, facts_class_name(analysis, point->class));
		emit_cell_text(emit, facts_class_kind(analysis, point->class));
		emit_cell_percent(emit, point->factor);
		emit_cell_ns(emit, point->estimate.saved_ns);
		emit_cell_ns(emit, point->estimate.least_ns);
		emit_cell_ns(emit, point->estimate.most_ns);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}
