/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: when did nothing run? Gaps with no op at all.
 */
#include "report.h"

void report_deadair(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "start", .head = "from", .align = EMIT_RIGHT },
		{ .key = "end", .head = "to", .align = EMIT_RIGHT },
		{ .head = "duration", .align = EMIT_RIGHT },
	};
	const struct deadair *deadair = &analysis->deadair;
	char total[EMIT_DURATION_BYTES], least[EMIT_DURATION_BYTES];
	emit_heading(emit, "When did nothing run? (gaps in which no op was running)");
	emit_format_duration(total, (double)deadair->total_ns);
	emit_format_duration(least, (double)analysis->options->dead_air_min_ns);
	if (deadair->gap_count == 0)
		emit_line(emit, "Never for %s or longer.", least);
	else
		emit_line(emit, "%zu gap%s of %s or longer, %s in all.", deadair->gap_count,
			  deadair->gap_count == 1 ? "" : "s", least, total);
	emit_table_begin(emit, "dead_air", EMIT_ARRAYS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < deadair->gap_count && i < analysis->options->top; i++) {
		const struct gap *gap = &deadair->gaps[i];
		emit_row_begin(emit);
		emit_cell_ns(emit, (double)gap->start_ns);
		emit_cell_ns(emit, (double)gap->end_ns);
		emit_cell_ns(emit, (double)(gap->end_ns - gap->start_ns));
		emit_row_end(emit);
	}
	emit_table_end(emit);
}
