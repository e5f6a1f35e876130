/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: which values had slow calls of probed functions?
 */
#include <inttypes.h>

#include "measure/leftout.h"
#include "measure/values.h"
#include "report.h"

enum { TEXT_BYTES = 160 };

void report_value_range(const struct analysis *analysis, struct emit *emit,
			const struct value_row *row, const struct value_range *range)
{
	char text[TEXT_BYTES] = "-";

	if (range->count && row->is_text)
		snprintf(text, sizeof(text), "\"%.100s\" (%zu of %zu)",
			 analysis->recording->strings[range->median], range->frequent_count,
			 range->count);
	else if (range->count && row->is_real)
		snprintf(text, sizeof(text), "%.6g (%.6g..%.6g)", value_real(range->median),
			 value_real(range->least), value_real(range->most));
	else if (range->count && row->is_signed)
		snprintf(text, sizeof(text), "%" PRId64 " (%" PRId64 "..%" PRId64 ")",
			 (int64_t)range->median, (int64_t)range->least, (int64_t)range->most);
	else if (range->count)
		snprintf(text, sizeof(text), "%" PRIu64 " (%" PRIu64 "..%" PRIu64 ")",
			 range->median, range->least, range->most);
	emit_cell_text(emit, text);
}

/* Calls that were left out: rows of JSON, sentences of text. */
static void emit_left_out(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "class" }, { .key = "recorded" }, { .key = "calls" },
		{ .key = "brief" }, { .key = "unmet" },    { .key = "when" },
	};
	struct leftout_table table;

	if (emit->format == EMIT_TEXT) {
		report_left_out(analysis, emit);
		return;
	}
	leftout_table_build(&table, analysis->recording, &analysis->classes);
	emit_table_begin(emit, "left_out", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < table.count; i++) {
		const struct leftout_row *row = &table.rows[i];

		emit_row_begin(emit);
		emit_cell_text(emit, analysis->recording->strings[row->name]);
		emit_cell_count(emit, row->recorded);
		emit_cell_count(emit, row->calls);
		emit_cell_count(emit, row->brief);
		emit_cell_count(emit, row->unmet);
		emit_cell_text(emit, analysis->recording->strings[row->when]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	leftout_table_free(&table);
}

void report_values(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "class", .head = "function", .is_flexible = true },
		{ .key = "name", .head = "value" },
		{ .key = "count", .head = "calls", .align = EMIT_RIGHT },
		{ .key = "slow_ns", .head = "slow from", .align = EMIT_RIGHT },
		{ .key = "slow", .head = "slow calls: median (range)" },
		{ .key = "usual", .head = "other calls" },
	};
	struct value_table table;

	value_table_build(&table, analysis->recording, &analysis->classes);
	emit_heading(emit, "Which values had slow calls of probed functions?");
	if (!table.count)
		emit_line(emit, "None were recorded: wcprof probe PROCESS 'FUNCTION(ARGUMENT)' "
				"does that.");
	emit_table_begin(emit, "values", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < table.count; i++) {
		const struct value_row *row = &table.rows[i];

		emit_row_begin(emit);
		emit_cell_text(emit, facts_class_name(analysis, row->class));
		emit_cell_text(emit, analysis->recording->strings[row->name]);
		emit_cell_count(emit, row->usual.count + row->slow.count);
		emit_cell_ns(emit, (double)row->slow_ns);
		report_value_range(analysis, emit, row, &row->slow);
		report_value_range(analysis, emit, row, &row->usual);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	if (table.count)
		emit_line(emit, "The slowest hundredth of the calls, or a twentieth of few.");
	value_table_free(&table);
	emit_left_out(analysis, emit);
}
