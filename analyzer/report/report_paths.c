/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what is the time of requests made of? Of usual ones, and of the slowest.
 */
#include "followed.h"
#include "report.h"

void report_paths(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "kind", .head = "part" },
		{ .key = "name", .head = "of", .is_flexible = true },
		{ .key = "by", .head = "held by", .is_flexible = true },
		{ .key = "mean_ns", .head = "mean", .align = EMIT_RIGHT },
		{ .key = "p50_ns", .head = "around p50", .align = EMIT_RIGHT },
		{ .key = "p99_ns", .head = "from p99 on", .align = EMIT_RIGHT },
	};
	const struct recording *recording = analysis->recording;
	struct followed_table table = { 0 };
	if (analysis->has_paths)
		followed_table_build(&table, &analysis->paths, &analysis->script.requests);
	if (table.count == 0 && emit->format == EMIT_TEXT) {
		followed_table_free(&table);
		return;
	}
	emit_heading(emit, "What is the time of requests made of?");
	emit_table_begin(emit, "request_parts", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < table.count; i++) {
		const struct followed_row *row = &table.rows[i];
		struct path_part part = path_parts_at(&analysis->paths.parts, row->part);
		if (emit->format == EMIT_TEXT && i >= analysis->options->top)
			break;
		emit_row_begin(emit);
		emit_cell_text(emit, path_kind_word(part.kind));
		emit_cell_text(emit, recording->strings[part.name]);
		emit_cell_text(emit, recording->strings[part.by]);
		emit_cell_ns(emit, row->mean_ns);
		emit_cell_ns(emit, row->p50_ns);
		emit_cell_ns(emit, row->p99_ns);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	followed_table_free(&table);
}
