/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what would these changes bring? The answers to what was asked with --what-if.
 */
#include "report.h"

static void emit_share(const struct analysis *analysis, struct emit *emit, double saved_ns)
{
	double baseline_ns = analysis->whatif.baseline.makespan_ns;
	emit_cell_percent(emit, baseline_ns > 0 ? 100 * saved_ns / baseline_ns : 0);
}

void report_asked(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "what_if", .head = "changes", .is_flexible = true },
		{ .key = "makespan_ns", .head = "makespan", .align = EMIT_RIGHT },
		{ .key = "saved_ns", .head = "saved", .align = EMIT_RIGHT },
		{ .key = NULL, .head = "of run", .align = EMIT_RIGHT },
		{ .key = NULL, .head = "least", .align = EMIT_RIGHT },
		{ .key = NULL, .head = "most", .align = EMIT_RIGHT },
		{ .key = "saved_least_ns" },
		{ .key = "saved_most_ns" },
		{ .key = "forced_steps" },
	};
	const struct asked *asked = &analysis->asked;
	if (asked->count == 0 && emit->format == EMIT_TEXT)
		return;
	emit_heading(emit, "What would these changes save?");
	if (analysis->checks.is_withheld && asked->count)
		report_withheld(analysis, emit);
	emit_table_begin(emit, "asked", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; !analysis->checks.is_withheld && i < asked->count; i++) {
		const struct asked_answer *answer = &asked->answers[i];
		if (answer->estimate.ran_away)
			continue; /* a check says so */
		emit_row_begin(emit);
		emit_cell_text(emit, answer->text);
		emit_cell_ns(emit, answer->makespan_ns);
		emit_cell_ns(emit, answer->estimate.saved_ns);
		emit_share(analysis, emit, answer->estimate.saved_ns);
		emit_share(analysis, emit, answer->estimate.least_ns);
		emit_share(analysis, emit, answer->estimate.most_ns);
		emit_cell_ns(emit, answer->estimate.least_ns);
		emit_cell_ns(emit, answer->estimate.most_ns);
		emit_cell_count(emit, answer->estimate.forced_steps);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	if (asked->count)
		report_pinned(analysis, emit);
}
