/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what was waited for? Waits by reason, resource and the class of what ended them.
 */
#include "report.h"

static void emit_wait_class(const struct analysis *analysis, struct emit *emit,
			    const struct wait_class *row)
{
	const struct recording *recording = analysis->recording;
	bool has_target = row->target_class != NO_INDEX;
	emit_row_begin(emit);
	emit_cell_text(emit, recording->reasons.words[row->reason]);
	emit_cell_text(emit, recording->strings[row->name]);
	emit_cell_text(emit, has_target ? facts_class_name(analysis, row->target_class) : "");
	emit_cell_text(emit, has_target ? facts_class_kind(analysis, row->target_class) : "");
	emit_cell_count(emit, row->count);
	emit_cell_ns(emit, (double)row->times.total_ns);
	emit_cell_ns(emit, (double)row->times.p50_ns);
	emit_cell_ns(emit, (double)row->times.p95_ns);
	emit_cell_ns(emit, (double)row->times.max_ns);
	emit_cell_count(emit, row->timed_out_count);
	emit_cell_count(emit, row->open_count);
	emit_row_end(emit);
}

void report_waits(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "reason", .head = "reason" },
		{ .key = "name", .head = "resource", .is_flexible = true },
		{ .key = "class", .head = "ended by", .is_flexible = true },
		{ .key = "kind", .head = "kind", .yields = 5 },
		{ .key = "count", .head = "waits", .align = EMIT_RIGHT },
		{ .key = "total_ns", .head = "total", .align = EMIT_RIGHT },
		{ .key = "p50_ns", .head = "p50", .align = EMIT_RIGHT, .yields = 4 },
		{ .key = "p95_ns", .head = "p95", .align = EMIT_RIGHT },
		{ .key = "max_ns", .head = "max", .align = EMIT_RIGHT, .yields = 3 },
		{ .key = "timed_out", .head = "timed out", .align = EMIT_RIGHT, .yields = 6 },
		{ .key = "open", .head = NULL },
	};
	const struct wait_table *waits = &analysis->waits;
	size_t count = waits->count;
	/* The longest come first. */
	while (emit->format == EMIT_TEXT && count > 0 && waits->rows[count - 1].times.total_ns == 0)
		count--;
	emit_heading(emit, "What did threads wait for?");
	if (count == 0)
		emit_line(emit, "Nothing.");
	emit_table_begin(emit, "waits", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t i = 0; i < count && i < analysis->options->top; i++)
		emit_wait_class(analysis, emit, &waits->rows[i]);
	emit_table_end(emit);
	if (count > analysis->options->top)
		emit_line(emit, "... and %zu more; --top shows them.",
			  count - analysis->options->top);
	if (count < waits->count)
		emit_line(emit, "%zu more never made a thread wait.", waits->count - count);
}
