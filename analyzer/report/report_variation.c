/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what does the recording's own variation say? An answer without a model, beside the
 * replay's.
 */

#include "report.h"

enum { BOTH_BYTES = 40 };

static double percent(const struct analysis *analysis, double ns)
{
	double makespan_ns = (double)analysis->actual_makespan_ns;
	return makespan_ns > 0 ? 100 * ns / makespan_ns : 0;
}

/* Text: with its error, and of the run; JSON has the numbers in columns of their own. */
static void emit_saving(const struct analysis *analysis, struct emit *emit, double saved_ns,
			double error_ns)
{
	char text[BOTH_BYTES];
	if (emit->format == EMIT_JSON) {
		emit_cell_ns(emit, saved_ns);
		return;
	}
	snprintf(text, sizeof(text), "%.1f +- %.1f%%", percent(analysis, saved_ns),
		 percent(analysis, error_ns));
	emit_cell_text(emit, text);
}

static void emit_replay(const struct analysis *analysis, struct emit *emit,
			const struct variation_row *row)
{
	char text[BOTH_BYTES] = "withheld";
	if (!analysis->checks.is_withheld)
		snprintf(text, sizeof(text), "%.1f..%.1f%%",
			 percent(analysis, row->replay_least_ns),
			 percent(analysis, row->replay_most_ns));
	emit_cell_text(emit, text);
}

/* By so much that it is said elsewhere. */
static bool is_apart(const struct analysis *analysis, const struct variation_row *row)
{
	return percent(analysis, row->apart_ns) > verdict_failed_above(CHECK_SENSITIVITY);
}

static void emit_row(const struct analysis *analysis, struct emit *emit,
		     const struct variation_row *row)
{
	emit_row_begin(emit);
	emit_cell_text(emit, facts_class_name(analysis, row->class));
	emit_cell_text(emit, facts_class_kind(analysis, row->class));
	emit_cell_ns(emit, (double)facts_class_self_ns(analysis, row->class));
	emit_saving(analysis, emit, row->saved_ns, row->error_ns);
	emit_saving(analysis, emit, HALF * row->saved_ns, HALF * row->error_ns);
	emit_replay(analysis, emit, row);
	emit_cell_text(emit, is_apart(analysis, row) ? "disagrees" : "agrees");
	emit_cell_ns(emit, row->error_ns);
	emit_cell_ns(emit, row->replay_least_ns);
	emit_cell_ns(emit, row->replay_most_ns);
	emit_row_end(emit);
}

void report_variation(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "class", .head = "class", .is_flexible = true },
		{ .key = "kind", .head = "kind" },
		{ .key = "total_self_ns", .head = "self", .align = EMIT_RIGHT, .yields = 1 },
		{ .key = "0", .head = "saved x0", .align = EMIT_RIGHT, .group = "saved_ns" },
		{ .key = "0.5", .head = "saved x0.5", .align = EMIT_RIGHT, .group = "saved_ns" },
		{ .key = NULL, .head = "replay x0", .align = EMIT_RIGHT },
		{ .key = "verdict", .head = "replay" },
		{ .key = "error_ns" },
		{ .key = "replay_least_ns" },
		{ .key = "replay_most_ns" },
	};
	const struct variation *variation = &analysis->variation;
	if (variation->row_count == 0 && emit->format == EMIT_TEXT)
		return;
	emit_heading(emit, "What does the recording's own variation say? (no model: do stretches "
			   "take longer in which a class did?)");
	emit_table_begin(emit, "variation", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < variation->row_count; i++)
		emit_row(analysis, emit, &variation->rows[i]);
	emit_table_end(emit);
	if (emit->format == EMIT_TEXT && variation->sensitivity.progress != NO_INDEX)
		emit_line(emit, "%zu stretches, each of as many `%s` (%s); +- is a standard error.",
			  variation->sensitivity.stretches,
			  facts_class_name(analysis, variation->sensitivity.progress),
			  facts_class_kind(analysis, variation->sensitivity.progress));
}
