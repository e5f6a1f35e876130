/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: how long did requests take, and what would shorten them? A server's makespan says little.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/percentile.h"
#include "report.h"

enum { FIXES_SHOWN = 5, NAME_BYTES = 2100 /* a class's, and how many are like it */ };

static int compare_requests(const void *left, const void *right)
{
	const struct request *a = left, *b = right;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return a->class < b->class ? -1 : a->class > b->class;
}

/* Requests of one class and source. */
static void emit_group(const struct analysis *analysis, struct emit *emit,
		       const struct request *requests, size_t count)
{
	uint64_t *taken_ns = memory_new(count, sizeof(*taken_ns)), max_ns = 0;
	double seconds = (double)analysis->actual_makespan_ns / 1e9;
	for (size_t i = 0; i < count; i++) {
		taken_ns[i] = requests[i].taken_ns;
		max_ns = taken_ns[i] > max_ns ? taken_ns[i] : max_ns;
	}
	emit_row_begin(emit);
	emit_cell_text(emit, facts_class_name(analysis, requests->class));
	emit_cell_text(emit, facts_class_kind(analysis, requests->class));
	emit_cell_text(emit, facts_request_source(requests->source));
	emit_cell_count(emit, count);
	emit_cell_ns(emit, (double)percentile_select(taken_ns, count, count / 2));
	emit_cell_ns(emit, (double)percentile_select(taken_ns, count, count * 99 / 100));
	emit_cell_ns(emit, (double)max_ns);
	emit_cell_count(emit, seconds > 0 ? (uint64_t)((double)count / seconds + 0.5) : 0);
	emit_cell_flag(emit, request_is_judged(&analysis->script.requests, requests));
	emit_row_end(emit);
	free(taken_ns);
}

static void emit_groups(const struct analysis *analysis, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "class", .head = "first op", .is_flexible = true },
		{ .key = "kind", .head = "kind" },
		{ .key = "source", .head = "found as" },
		{ .key = "count", .head = "requests", .align = EMIT_RIGHT },
		{ .key = "p50_ns", .head = "p50", .align = EMIT_RIGHT },
		{ .key = "p99_ns", .head = "p99", .align = EMIT_RIGHT },
		{ .key = "max_ns", .head = "max", .align = EMIT_RIGHT },
		{ .key = "per_second", .head = "per second", .align = EMIT_RIGHT },
		{ .key = "is_judged", .head = NULL },
	};
	const struct requests *all = &analysis->script.requests;
	struct request *sorted = memory_new(all->count, sizeof(*sorted));
	if (all->count) {
		memcpy(sorted, all->requests, all->count * sizeof(*sorted));
		qsort(sorted, all->count, sizeof(*sorted), compare_requests);
	}
	emit_table_begin(emit, "requests", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t from = 0, to; from < all->count; from = to) {
		for (to = from; to < all->count && !compare_requests(&sorted[from], &sorted[to]);)
			to++;
		emit_group(analysis, emit, &sorted[from], to - from);
	}
	emit_table_end(emit);
	free(sorted);
}

static void emit_change(struct emit *emit, double saved_ns, double of_ns)
{
	char time[EMIT_DURATION_BYTES], text[2 * EMIT_DURATION_BYTES];
	emit_format_duration(time, saved_ns);
	snprintf(text, sizeof(text), "%s %5.1f%%", time, of_ns > 0 ? 100 * saved_ns / of_ns : 0);
	emit_cell_text(emit, text);
}

/* The rows that save most of the 99th percentile, at one factor; text only. */
static void emit_fixes(const struct analysis *analysis, struct emit *emit, size_t factor)
{
	static const struct emit_column columns[] = {
		{ .head = "class", .is_flexible = true },
		{ .head = "kind" },
		{ .head = "p50 saved", .align = EMIT_RIGHT },
		{ .head = "p99 saved", .align = EMIT_RIGHT },
	};
	const struct whatif *whatif = &analysis->whatif;
	bool *is_shown = memory_new(whatif->row_count, sizeof(*is_shown));
	char name[NAME_BYTES];
	emit_line(emit,
		  analysis->script.requests.judged_source == REQUEST_LOCK
			  ? "Time saved in waits for `%s` if a class takes %g times as long:"
			  : "Time saved in requests that begin with `%s` if a class takes %g times "
			    "as long:",
		  facts_class_name(analysis, analysis->script.requests.judged_class),
		  analysis->options->factors.factors[factor]);
	emit_table_begin(emit, NULL, EMIT_OBJECTS, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t shown = 0; shown < FIXES_SHOWN; shown++) {
		const struct whatif_row *best = NULL;
		for (size_t i = 0; i < whatif->row_count; i++)
			if (!is_shown[i] && !report_is_repeated(analysis, i) &&
			    (!best || whatif->rows[i].estimates[factor].p99_saved_ns >
					      best->estimates[factor].p99_saved_ns))
				best = &whatif->rows[i];
		if (!best)
			break;
		is_shown[best - whatif->rows] = true;
		emit_row_begin(emit);
		emit_cell_text(emit,
			       report_name_of_repeated(analysis, (size_t)(best - whatif->rows),
						       name, sizeof(name)));
		emit_cell_text(emit, facts_class_kind(analysis, best->class));
		emit_change(emit, best->estimates[factor].p50_saved_ns, whatif->baseline.p50_ns);
		emit_change(emit, best->estimates[factor].p99_saved_ns, whatif->baseline.p99_ns);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	free(is_shown);
}

void report_requests(const struct analysis *analysis, struct emit *emit)
{
	const struct replay_answer *baseline = &analysis->whatif.baseline;
	bool has_any = analysis->script.requests.count > 0;
	emit_ns(emit, "baseline_p50_ns", NULL, baseline->p50_ns);
	emit_ns(emit, "baseline_p99_ns", NULL, baseline->p99_ns);
	emit_text(emit, "request_answers", NULL,
		  analysis->checks.are_requests_withheld ? "withheld" : "given");
	if (!has_any && emit->format == EMIT_TEXT)
		return;
	emit_heading(emit, analysis->script.requests.judged_source == REQUEST_LOCK
				   ? "How long did threads wait for the lock waited for most?"
				   : "How long did requests take?");
	emit_groups(analysis, emit);
	if (emit->format == EMIT_TEXT && analysis->checks.are_requests_withheld &&
	    !analysis->checks.is_withheld)
		emit_line(emit,
			  "Savings of requests are withheld: the replay of the unchanged run has "
			  "their times wrong by %.0f%%; --force shows them.",
			  analysis->checks.rows[CHECK_LATENCY].value);
	if (emit->format == EMIT_TEXT && baseline->p99_ns > 0 &&
	    !analysis->checks.are_requests_withheld)
		emit_fixes(analysis, emit, report_sentence_factor(&analysis->options->factors));
}
