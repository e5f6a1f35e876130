/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and lines of the savings of requests; shortening.h has the contract. */
#include "shortening.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report.h"
#include "verdict.h"

enum {
	ROWS_SHOWN = 5,
	NAME_BYTES = 2100, /* a class's, and how many are like it */
	CELL_BYTES = 2 * EMIT_DURATION_BYTES
};

/* The slowest requests are known by the highest percentile that is given. */
static const enum request_figure slowest_first[] = { REQUEST_P99, REQUEST_P95, REQUEST_P50,
						     REQUEST_MEAN };

struct shortening {
	const struct analysis *analysis;
	struct emit *emit;
	size_t factor;
	struct request_figures recorded;
	bool is_given[REQUEST_FIGURES];
	char causes[REQUEST_FIGURES][SHORTENING_CAUSE_BYTES];
};

bool shortening_is_given(const struct analysis *analysis, const struct request_figures *recorded,
			 enum request_figure figure, char cause[SHORTENING_CAUSE_BYTES])
{
	size_t least = shortened_least_count(figure);
	cause[0] = '\0';
	if (analysis->checks.is_withheld)
		snprintf(cause, SHORTENING_CAUSE_BYTES, "answers are withheld");
	else if (recorded->count < least)
		snprintf(cause, SHORTENING_CAUSE_BYTES, "%zu requests are too few, it takes %zu",
			 recorded->count, least);
	else if (figure != REQUEST_MEAN && isnan(recorded->ns[figure]))
		snprintf(cause, SHORTENING_CAUSE_BYTES,
			 "%zu of %zu requests were not finished, nobody knows how long they take",
			 recorded->unfinished_count, recorded->count);
	else if (analysis->checks.is_figure_withheld[figure] &&
		 verdict_is_handed(&analysis->checks, figure))
		snprintf(cause, SHORTENING_CAUSE_BYTES,
			 "a loop answers %.0f%% of the requests when one of several threads calls, "
			 "nobody knows for which (--force shows it all the same)",
			 analysis->checks.handed_percent);
	else if (analysis->checks.is_figure_withheld[figure])
		snprintf(cause, SHORTENING_CAUSE_BYTES,
			 "the replay of the unchanged run has it wrong by %.0f%% (--force shows "
			 "it all the same)",
			 analysis->checks.figure_off[figure]);
	return !cause[0];
}

bool shortening_is_told(const struct shortened *saved)
{
	return saved->is_known && (saved->least_ns > 0 || saved->most_ns < 0);
}

/* --- JSON --- */

static void emit_figures(const struct shortening *of)
{
	static const struct emit_column columns[] = {
		{ .key = "figure" },      { .key = "recorded_ns" }, { .key = "replayed_ns" },
		{ .key = "off_percent" }, { .key = "is_given" },    { .key = "cause" },
		{ .key = "intended_ns" },
	};
	const struct script *script = &of->analysis->script;
	struct request_figures intended;
	bool has_intended =
		request_figures_intended(&intended, &script->requests, &script->clients);
	struct emit *emit = of->emit;
	emit_table_begin(emit, "request_figures", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (enum request_figure i = 0; i < REQUEST_FIGURES; i++) {
		emit_row_begin(emit);
		emit_cell_text(emit, request_figure_word(i));
		emit_cell_ns(emit, of->recorded.ns[i]);
		emit_cell_ns(emit, of->analysis->whatif.baseline.requests_ns[i]);
		emit_cell_percent(emit, of->analysis->checks.figure_off[i]);
		emit_cell_flag(emit, of->is_given[i]);
		emit_cell_text(emit, of->causes[i]);
		emit_cell_ns(emit, has_intended ? intended.ns[i] : NAN);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

/* Of the rows that ranges are known of. */
static void emit_savings(const struct shortening *of)
{
	static const struct emit_column columns[] = {
		{ .key = "class" },        { .key = "kind" },          { .key = "factor" },
		{ .key = "per_second" },   { .key = "mean_saved_ns" }, { .key = "mean_least_ns" },
		{ .key = "mean_most_ns" }, { .key = "p50_saved_ns" },  { .key = "p50_least_ns" },
		{ .key = "p50_most_ns" },  { .key = "p95_saved_ns" },  { .key = "p95_least_ns" },
		{ .key = "p95_most_ns" },  { .key = "p99_saved_ns" },  { .key = "p99_least_ns" },
		{ .key = "p99_most_ns" },  { .key = "makespan_ns" },
	};
	const struct whatif *whatif = &of->analysis->whatif;
	const struct factor_list *factors = &of->analysis->options->factors;
	struct emit *emit = of->emit;
	emit_table_begin(emit, "request_savings", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < whatif->row_count * factors->count; i++) {
		const struct whatif_row *row = &whatif->rows[i / factors->count];
		const struct estimate *estimate = &row->estimates[i % factors->count];
		if (!row->is_sure)
			continue;
		emit_row_begin(emit);
		emit_cell_text(emit, facts_class_name(of->analysis, row->class));
		emit_cell_text(emit, facts_class_kind(of->analysis, row->class));
		emit_cell_percent(emit, factors->factors[i % factors->count]);
		emit_cell_percent(
			emit,
			(double)of->recorded.count * 1e9 /
				fmax(facts_replayed_ns(of->analysis) - estimate->saved_ns, 1));
		for (enum request_figure f = 0; f < REQUEST_FIGURES; f++) {
			const struct shortened *saved = &estimate->requests[f];
			bool is_known = saved->is_known && of->is_given[f];
			emit_cell_ns(emit, is_known ? saved->saved_ns : NAN);
			emit_cell_ns(emit, is_known ? saved->least_ns : NAN);
			emit_cell_ns(emit, is_known ? saved->most_ns : NAN);
		}
		emit_cell_ns(emit, whatif->baseline.makespan_ns - estimate->saved_ns);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

/* --- text --- */

static double percent_of(const struct analysis *analysis, enum request_figure figure, double ns)
{
	double all_ns = analysis->whatif.baseline.requests_ns[figure];
	return all_ns > 0 ? 100 * ns / all_ns : 0;
}

void shortening_emit_saved(const struct analysis *analysis, struct emit *emit,
			   enum request_figure figure, const struct estimate *estimate)
{
	const struct shortened *saved = &estimate->requests[figure];
	char time[EMIT_DURATION_BYTES], text[CELL_BYTES];
	emit_format_duration(time, saved->saved_ns);
	snprintf(text, sizeof(text), "%s %5.1f%%", time,
		 percent_of(analysis, figure, saved->saved_ns));
	bool is_known = saved->is_known && !analysis->checks.is_figure_withheld[figure];
	emit_cell_text(emit, !is_known ? "-" : shortening_is_told(saved) ? text : "~0");
}

static void emit_range(const struct shortening *of, enum request_figure figure,
		       const struct shortened *saved)
{
	char text[CELL_BYTES] = "-";
	if (of->is_given[figure] && saved->is_known)
		snprintf(text, sizeof(text), "%.0f..%.0f%%",
			 percent_of(of->analysis, figure, saved->least_ns),
			 percent_of(of->analysis, figure, saved->most_ns));
	emit_cell_text(of->emit, text);
}

static void emit_row(const struct shortening *of, const struct whatif_row *row,
		     enum request_figure ranged)
{
	const struct estimate *estimate = &row->estimates[of->factor];
	char name[NAME_BYTES];
	emit_row_begin(of->emit);
	emit_cell_text(of->emit, report_name_of_repeated(of->analysis,
							 (size_t)(row - of->analysis->whatif.rows),
							 name, sizeof(name)));
	emit_cell_text(of->emit, facts_class_kind(of->analysis, row->class));
	shortening_emit_saved(of->analysis, of->emit, REQUEST_MEAN, estimate);
	shortening_emit_saved(of->analysis, of->emit, REQUEST_P50, estimate);
	shortening_emit_saved(of->analysis, of->emit, REQUEST_P95, estimate);
	shortening_emit_saved(of->analysis, of->emit, REQUEST_P99, estimate);
	emit_range(of, ranged, &estimate->requests[ranged]);
	emit_row_end(of->emit);
}

/* Something is saved, or lost, that chance does not explain. */
static bool is_row_told(const struct shortening *of, const struct whatif_row *row)
{
	bool is_any = false;
	for (enum request_figure i = 0; i < REQUEST_FIGURES; i++)
		is_any = is_any || (of->is_given[i] &&
				    shortening_is_told(&row->estimates[of->factor].requests[i]));
	return is_any && row->same_as == NO_INDEX;
}

static enum request_figure slowest_given(const struct shortening *of)
{
	for (size_t i = 0; i < REQUEST_FIGURES; i++)
		if (of->is_given[slowest_first[i]])
			return slowest_first[i];
	return REQUEST_FIGURES;
}

/* The rows that save most of the slowest requests. */
static void emit_table(const struct shortening *of, enum request_figure figure)
{
	char range[16];
	snprintf(range, sizeof(range), "%s range", request_figure_word(figure));
	const struct emit_column columns[] = {
		{ .head = "class", .is_flexible = true },
		{ .head = "kind", .yields = 2 },
		{ .head = "mean saved", .align = EMIT_RIGHT, .yields = 4 },
		{ .head = "p50 saved", .align = EMIT_RIGHT },
		{ .head = "p95 saved", .align = EMIT_RIGHT, .yields = 1 },
		{ .head = "p99 saved", .align = EMIT_RIGHT },
		{ .head = range, .align = EMIT_RIGHT, .yields = 3 },
	};
	const struct whatif *whatif = &of->analysis->whatif;
	bool *is_shown = memory_new(whatif->row_count, sizeof(*is_shown));
	emit_table_begin(of->emit, NULL, EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (size_t shown = 0; shown < ROWS_SHOWN; shown++) {
		const struct whatif_row *best = NULL;
		for (size_t i = 0; i < whatif->row_count; i++) {
			const struct whatif_row *row = &whatif->rows[i];
			if (!is_shown[i] && is_row_told(of, row) &&
			    (!best ||
			     row->estimates[of->factor].requests[figure].saved_ns >
				     best->estimates[of->factor].requests[figure].saved_ns))
				best = row;
		}
		if (!best)
			break;
		is_shown[best - whatif->rows] = true;
		emit_row(of, best, figure);
	}
	emit_table_end(of->emit);
	free(is_shown);
}

static void emit_text_of(const struct shortening *of)
{
	const struct requests *requests = &of->analysis->script.requests;
	enum request_figure figure = slowest_given(of);
	for (enum request_figure i = REQUEST_P50; i < REQUEST_FIGURES; i++)
		if (of->causes[i][0] && !of->analysis->checks.is_withheld)
			emit_line(of->emit, "Savings of %s are withheld: %s.",
				  request_figure_word(i), of->causes[i]);
	if (figure == REQUEST_FIGURES)
		return;
	emit_line(of->emit,
		  requests->judged_source == REQUEST_LOCK
			  ? "Time saved in waits for `%s` if a class takes %g times as long:"
			  : "Time saved in requests that begin with `%s` if a class takes %g times "
			    "as long:",
		  facts_class_name(of->analysis, requests->judged_class),
		  of->analysis->options->factors.factors[of->factor]);
	emit_table(of, figure);
}

void shortening_emit(const struct analysis *analysis, struct emit *emit)
{
	const struct replay_answer *baseline = &analysis->whatif.baseline;
	struct shortening of = { .analysis = analysis,
				 .emit = emit,
				 .factor = report_sentence_factor(&analysis->options->factors) };
	emit_ns(emit, "baseline_p50_ns", NULL, baseline->requests_ns[REQUEST_P50]);
	emit_ns(emit, "baseline_p99_ns", NULL, baseline->requests_ns[REQUEST_P99]);
	request_figures_judged(&of.recorded, &analysis->script.requests);
	for (enum request_figure i = 0; i < REQUEST_FIGURES; i++)
		of.is_given[i] = shortening_is_given(analysis, &of.recorded, i, of.causes[i]);
	if (emit->format == EMIT_JSON) {
		emit_figures(&of);
		emit_savings(&of);
	} else if (baseline->requests_ns[REQUEST_MEAN] > 0) {
		emit_text_of(&of);
	}
}

void shortening_print_base(const struct analysis *analysis, struct emit *emit)
{
	const struct replay_answer *baseline = &analysis->whatif.baseline;
	struct request_figures recorded;
	const struct requests *requests = &analysis->script.requests;
	char took[4][EMIT_DURATION_BYTES];
	if (emit->format != EMIT_TEXT || !analysis->has_script ||
	    requests->judged_class == NO_INDEX || requests->judged_source == REQUEST_LOCK)
		return;
	request_figures_judged(&recorded, requests);
	if (isnan(recorded.ns[REQUEST_P50]) || isnan(recorded.ns[REQUEST_P99]) ||
	    !(baseline->requests_ns[REQUEST_MEAN] > 0))
		return;
	emit_format_duration(took[0], recorded.ns[REQUEST_P50]);
	emit_format_duration(took[1], recorded.ns[REQUEST_P99]);
	emit_format_duration(took[2], baseline->requests_ns[REQUEST_P50]);
	emit_format_duration(took[3], baseline->requests_ns[REQUEST_P99]);
	emit_labelled(emit, "Latency", "p50 %s, p99 %s recorded; p50 %s, p99 %s replayed unchanged",
		      took[0], took[1], took[2], took[3]);
}
