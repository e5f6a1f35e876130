/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what would these changes bring? The answers to what was asked with --what-if.
 */
#include <math.h>

#include "report.h"
#include "served.h"

static void emit_share(const struct analysis *analysis, struct emit *emit, double saved_ns)
{
	double baseline_ns = analysis->whatif.baseline.makespan_ns;
	emit_cell_percent(emit, baseline_ns > 0 ? 100 * saved_ns / baseline_ns : 0);
}

/* JSON: of the requests that are judged. Null is what is withheld. */
static void emit_savings(const struct analysis *analysis, struct emit *emit,
			 const struct asked_answer *answer)
{
	struct request_figures recorded;
	char cause[SHORTENING_CAUSE_BYTES];
	request_figures_judged(&recorded, &analysis->script.requests);
	emit_cell_percent(emit,
			  (double)recorded.count * 1e9 /
				  fmax(facts_replayed_ns(analysis) - answer->estimate.saved_ns, 1));
	for (enum request_figure f = 0; f < REQUEST_FIGURES; f++) {
		const struct shortened *saved = &answer->estimate.requests[f];
		bool is_known =
			saved->is_known && shortening_is_given(analysis, &recorded, f, cause);
		emit_cell_ns(emit, is_known ? saved->saved_ns : NAN);
		emit_cell_ns(emit, is_known ? saved->least_ns : NAN);
		emit_cell_ns(emit, is_known ? saved->most_ns : NAN);
	}
}

/* Text: what the users of a server have of it. */
static void emit_served(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .head = "changes", .is_flexible = true },
		{ .head = "p50 saved", .align = EMIT_RIGHT },
		{ .head = "p99 saved", .align = EMIT_RIGHT },
		{ .head = "throughput (range)" },
	};
	const struct asked *asked = &analysis->asked;
	struct served served;
	if (analysis->checks.is_withheld || !served_find(analysis, &served))
		return;
	emit_line(emit, "To requests:");
	emit_table_begin(emit, NULL, EMIT_OBJECTS, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < asked->count; i++) {
		const struct estimate *estimate = &asked->answers[i].estimate;
		if (estimate->is_none)
			continue;
		emit_row_begin(emit);
		emit_cell_text(emit, asked->answers[i].text);
		shortening_emit_saved(analysis, emit, REQUEST_P50, estimate);
		shortening_emit_saved(analysis, emit, REQUEST_P99, estimate);
		served_emit_gain(analysis, emit, estimate);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	served_free(&served);
}

/* Text: what decides between both ends of a range, and is in no recording. */
static void emit_doubts(const struct asked *asked, struct emit *emit)
{
	for (size_t i = 0; i < asked->count; i++) {
		const struct estimate *estimate = &asked->answers[i].estimate;
		if (estimate->is_none)
			continue;
		if (estimate->depends_on_timeouts)
			emit_line(
				emit,
				"`%s`: timeouts that passed would not pass then. What the program "
				"would do instead is not in the recording.",
				asked->answers[i].text);
		if (estimate->depends_on_jobs)
			emit_line(
				emit,
				"`%s`: which of several jobs or pieces of work a thread takes next "
				"is not in the recording.",
				asked->answers[i].text);
	}
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
		{ .key = "depends_on_timeouts" },
		{ .key = "depends_on_job_order" },
		{ .key = "per_second" },
		{ .key = "mean_saved_ns" },
		{ .key = "mean_least_ns" },
		{ .key = "mean_most_ns" },
		{ .key = "p50_saved_ns" },
		{ .key = "p50_least_ns" },
		{ .key = "p50_most_ns" },
		{ .key = "p95_saved_ns" },
		{ .key = "p95_least_ns" },
		{ .key = "p95_most_ns" },
		{ .key = "p99_saved_ns" },
		{ .key = "p99_least_ns" },
		{ .key = "p99_most_ns" },
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
		if (answer->estimate.is_none)
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
		emit_cell_flag(emit, answer->estimate.depends_on_timeouts);
		emit_cell_flag(emit, answer->estimate.depends_on_jobs);
		emit_savings(analysis, emit, answer);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	if (!analysis->checks.is_withheld && emit->format == EMIT_TEXT)
		emit_doubts(asked, emit);
	if (asked->count && emit->format == EMIT_TEXT)
		emit_served(analysis, emit);
	if (asked->count)
		report_pinned(analysis, emit);
}
