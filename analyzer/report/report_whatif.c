/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: what would a fix buy? Every class that was tried, with what it would save at each factor.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bar.h"
#include "base/memory.h"
#include "report.h"

enum {
	FACTOR_BYTES = 32,
	FIRST_COLUMNS = 4,
	PROSPECT_COLUMNS = 3,
	OTHER_COLUMNS = 17,
	NAME_BYTES = 4200, /* a class's, a function's, and how many are like it */
	FIGURES = 7,
	FINISH_FIGURES = 2, /* the last ones: of each thread, of each process */
	SAMPLES_ENOUGH = 10 /* fewer are off by a third or more */
};

_Static_assert(OTHER_COLUMNS + FIGURES * FACTORS_MAX <= EMIT_COLUMNS_MAX,
	       "every factor has its columns");

static const double RANGE_SHOWN_PERCENT = 0.5;

/* Heads and keys of the columns of the factors. */
struct factor_names {
	char keys[FACTORS_MAX][FACTOR_BYTES];
	char heads[FACTORS_MAX][FACTOR_BYTES + 8];
	char range[FACTOR_BYTES + 8];
	char bar[FACTOR_BYTES + 16];
};

/* Figures of each factor that JSON alone has. */
static const char *const json_figures[FIGURES - 1] = { "saved_least_ns",   "saved_most_ns",
						       "p50_saved_ns",     "p99_saved_ns",
						       "thread_finish_ns", "process_finish_ns" };

static size_t smallest_factor(const struct factor_list *list)
{
	size_t smallest = 0;
	assert(list->count > 0);
	for (size_t i = 1; i < list->count; i++)
		if (list->factors[i] < list->factors[smallest])
			smallest = i;
	return smallest;
}

/* The factor whose range is told: that of the bars, where there are bars. */
static size_t ranged_factor(const struct emit *emit, const struct factor_list *list)
{
	return emit->is_screen ? report_sentence_factor(list) : smallest_factor(list);
}

/* On the first screen all but the class, and what the bars are of, may yield. */
static size_t whatif_columns(const struct emit *emit, const struct factor_list *list,
			     struct factor_names *names,
			     struct emit_column columns[EMIT_COLUMNS_MAX])
{
	const bool is_screen = emit->is_screen;
	const struct emit_column first[FIRST_COLUMNS] = {
		{ .key = "class", .head = "class", .is_flexible = true },
		{ .key = "kind", .head = "kind", .yields = is_screen },
		{ .key = "total_self_ns",
		  .head = "self",
		  .align = EMIT_RIGHT,
		  .yields = is_screen ? 3 : 0 },
		{ .key = "count", .head = "ops", .align = EMIT_RIGHT, .yields = is_screen ? 4 : 3 },
	};
	const struct emit_column last[] = {
		{ .key = NULL, .head = is_screen ? names->bar : NULL },
		{ .key = NULL, .head = names->range, .yields = is_screen ? 5 : 2 },
		{ .key = NULL,
		  .head = is_screen ? NULL : "no more gain",
		  .align = EMIT_RIGHT,
		  .yields = 4 },
		{ .key = NULL,
		  .head = is_screen ? NULL : "then the limit is",
		  .is_flexible = true,
		  .yields = 5 },
		{ .key = "depends_on_lock_order" },
		{ .key = "depends_on_timeouts" },
		{ .key = "depends_on_job_order" },
		{ .key = "depends_on_cpus" },
		{ .key = "same_as" },
		{ .key = "stops_at" },
		{ .key = "class", .group = "then" },
		{ .key = "kind", .group = "then" },
	};
	size_t count = 0, smallest = smallest_factor(list);
	snprintf(names->range, sizeof(names->range), "range x%.15g",
		 list->factors[ranged_factor(emit, list)]);
	snprintf(names->bar, sizeof(names->bar), "x%.15g (range)",
		 list->factors[ranged_factor(emit, list)]);
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		columns[count++] = first[i];
	for (size_t i = 0; i < list->count; i++) {
		bool is_told = i == report_sentence_factor(list);
		unsigned yields = is_told ? 0 : i != smallest ? 6 : is_screen ? 2 : 0;
		snprintf(names->keys[i], sizeof(names->keys[i]), "%.15g", list->factors[i]);
		snprintf(names->heads[i], sizeof(names->heads[i]), "saved x%s", names->keys[i]);
		columns[count++] = (struct emit_column){ .key = names->keys[i],
							 .head = names->heads[i],
							 .align = EMIT_RIGHT,
							 .group = "saved_ns",
							 .yields = yields };
	}
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		columns[count++] = last[i];
	for (size_t figure = 0; figure < FIGURES - 1; figure++)
		for (size_t i = 0; i < list->count; i++)
			columns[count++] = (struct emit_column){ .key = names->keys[i],
								 .group = json_figures[figure] };
	return count;
}

static double baseline_percent(const struct analysis *analysis, double ns)
{
	double baseline_ns = analysis->whatif.baseline.makespan_ns;
	return baseline_ns > 0 ? 100 * ns / baseline_ns : 0;
}

static void emit_saving(const struct analysis *analysis, struct emit *emit, double saved_ns)
{
	char time[EMIT_DURATION_BYTES], text[2 * EMIT_DURATION_BYTES];
	if (emit->format == EMIT_JSON) {
		emit_cell_ns(emit, saved_ns);
		return;
	}
	emit_format_duration(time, saved_ns);
	snprintf(text, sizeof(text), "%s %5.1f%%", time, baseline_percent(analysis, saved_ns));
	emit_cell_text(emit, text);
}

static bool has_range(const struct analysis *analysis, const struct whatif_row *row, size_t f)
{
	return baseline_percent(analysis, row->estimates[f].most_ns - row->estimates[f].least_ns) >=
	       RANGE_SHOWN_PERCENT;
}

/* Most of what is known of it are so few samples that they say next to nothing. */
static bool has_few_samples(const struct analysis *analysis, const struct whatif_row *row)
{
	if (row->class < analysis->classes.count)
		return false;
	const struct function *function =
		&analysis->script.shares.functions[row->class - analysis->classes.count];
	return function->samples < SAMPLES_ENOUGH && function->sampled_ns > function->total_ns / 2;
}

/* The range at the factor, where it is one. */
static void emit_range(const struct analysis *analysis, struct emit *emit,
		       const struct whatif_row *row, size_t ranged)
{
	double least = baseline_percent(analysis, row->estimates[ranged].least_ns);
	double most = fmin(baseline_percent(analysis, row->estimates[ranged].most_ns), 100);
	char text[64] = "";
	if (has_few_samples(analysis, row))
		snprintf(text, sizeof(text), "too few samples");
	else if (has_range(analysis, row, ranged))
		snprintf(text, sizeof(text), "%.1f..%.1f%%%s", least, most,
			 row->depends_on_order      ? " (lock order)"
			 : row->depends_on_timeouts ? " (timeouts)"
			 : row->depends_on_jobs     ? " (job order)"
			 : row->depends_on_cpus     ? " (run queue)"
						    : "");
	emit_cell_text(emit, text);
}

/* JSON: "hold NAME", the row whose answers these are. */
static void emit_same(const struct analysis *analysis, struct emit *emit,
		      const struct whatif_row *row)
{
	const struct whatif_row *same = whatif_find(&analysis->whatif, row->same_as);
	char name[NAME_BYTES] = "";
	if (same)
		snprintf(name, sizeof(name), "%s %.2000s", facts_class_kind(analysis, same->class),
			 facts_class_name(analysis, same->class));
	emit_cell_text(emit, name);
}

/* A bar as long as its column is the most that any row may save. */
static void emit_bar(const struct analysis *analysis, struct emit *emit,
		     const struct whatif_row *row, size_t f)
{
	const struct whatif *whatif = &analysis->whatif;
	const struct estimate *estimate = &row->estimates[f];
	char bar[BAR_BYTES] = "";
	double whole_ns = 0;
	for (size_t i = 0; emit->is_screen && i < whatif->row_count; i++)
		whole_ns = fmax(whole_ns, whatif->rows[i].estimates[f].most_ns);
	if (whole_ns > 0)
		bar_draw(bar, estimate->least_ns / whole_ns, estimate->most_ns / whole_ns);
	emit_cell_text(emit, bar);
}

static void emit_prospects(const struct analysis *analysis, struct emit *emit,
			   const struct whatif_row *row, size_t ranged)
{
	bool has_next = row->next_class != NO_INDEX;
	const char *class = has_next ? facts_class_name(analysis, row->next_class) : "";
	const char *kind = has_next ? facts_class_kind(analysis, row->next_class) : "";
	char stop[FACTOR_BYTES] = "", *next = memory_new(strlen(class) + strlen(kind) + 2, 1);
	if (row->stops_at > 0)
		snprintf(stop, sizeof(stop), "below x%.2g", row->stops_at);
	sprintf(next, "%s%s%s", kind, has_next ? " " : "", class);
	emit_bar(analysis, emit, row, ranged);
	emit_range(analysis, emit, row, ranged);
	emit_cell_text(emit, stop);
	emit_cell_text(emit, next);
	emit_cell_flag(emit, row->depends_on_order);
	emit_cell_flag(emit, row->depends_on_timeouts);
	emit_cell_flag(emit, row->depends_on_jobs);
	emit_cell_flag(emit, row->depends_on_cpus);
	emit_same(analysis, emit, row);
	emit_cell_percent(emit, row->stops_at);
	emit_cell_text(emit, class);
	emit_cell_text(emit, kind);
	free(next);
}

/* When each thread, or process, would have finished, since the first one began: JSON. */
static void emit_finishes(const struct analysis *analysis, struct emit *emit,
			  const uint64_t *finish_ns)
{
	const struct recording *recording = analysis->recording;
	char key[24];
	emit_cell_map_begin(emit);
	for (size_t t = 0; t < analysis->whatif.finish_count; t++) {
		snprintf(key, sizeof(key), "%" PRIu32, recording->threads[t].tid);
		emit_cell_map_entry(emit, key, finish_ns[t]);
	}
	emit_cell_map_end(emit);
}

static void emit_process_finishes(const struct analysis *analysis, struct emit *emit,
				  const uint64_t *finish_ns)
{
	const struct recording *recording = analysis->recording;
	uint64_t *last_ns = memory_new(recording->process_count, sizeof(*last_ns));
	char key[24];
	for (size_t t = 0; t < analysis->whatif.finish_count; t++) {
		uint64_t *last = &last_ns[recording->threads[t].process];
		*last = finish_ns[t] > *last ? finish_ns[t] : *last;
	}
	emit_cell_map_begin(emit);
	for (size_t p = 0; analysis->whatif.finish_count && p < recording->process_count; p++) {
		snprintf(key, sizeof(key), "%" PRIu32, recording->processes[p].pid);
		emit_cell_map_entry(emit, key, last_ns[p]);
	}
	emit_cell_map_end(emit);
	free(last_ns);
}

static void emit_json_figures(const struct analysis *analysis, struct emit *emit,
			      const struct whatif_row *row)
{
	size_t factors = analysis->options->factors.count;
	size_t threads = analysis->whatif.finish_count;
	for (size_t f = 0; f < factors; f++)
		emit_cell_ns(emit, row->estimates[f].least_ns);
	for (size_t f = 0; f < factors; f++)
		emit_cell_ns(emit, row->estimates[f].most_ns);
	for (size_t f = 0; f < factors; f++)
		emit_cell_ns(emit, row->estimates[f].requests[REQUEST_P50].saved_ns);
	for (size_t f = 0; f < factors; f++)
		emit_cell_ns(emit, row->estimates[f].requests[REQUEST_P99].saved_ns);
	if (emit->is_brief)
		return;
	for (size_t f = 0; f < factors; f++)
		emit_finishes(analysis, emit, row->finish_ns + f * threads);
	for (size_t f = 0; f < factors; f++)
		emit_process_finishes(analysis, emit, row->finish_ns + f * threads);
}

/* Text: columns in which there is nothing to tell. */
static void columns_hide(const struct analysis *analysis,
			 struct emit_column columns[EMIT_COLUMNS_MAX], size_t ranged)
{
	const struct whatif *whatif = &analysis->whatif;
	bool is_told[PROSPECT_COLUMNS] = { false };
	for (size_t i = 0; i < whatif->row_count && i < analysis->options->top; i++) {
		const struct whatif_row *row = &whatif->rows[i];
		is_told[0] = is_told[0] || has_range(analysis, row, ranged) ||
			     has_few_samples(analysis, row);
		is_told[1] = is_told[1] || row->stops_at > 0;
		is_told[2] = is_told[2] || row->next_class != NO_INDEX;
	}
	for (size_t i = 0; i < PROSPECT_COLUMNS; i++)
		if (!is_told[i])
			columns[FIRST_COLUMNS + analysis->options->factors.count + 1 + i].head =
				NULL;
}

static void emit_row(const struct analysis *analysis, struct emit *emit, size_t i)
{
	const struct factor_list *list = &analysis->options->factors;
	const struct whatif_row *row = &analysis->whatif.rows[i];
	char name[NAME_BYTES];
	emit_row_begin(emit);
	emit_cell_text(emit, emit->format == EMIT_TEXT
				     ? report_name_of_repeated(analysis, i, name, sizeof(name))
				     : facts_class_name(analysis, row->class));
	emit_cell_text(emit, facts_class_kind(analysis, row->class));
	emit_cell_ns(emit, (double)facts_class_self_ns(analysis, row->class));
	emit_cell_count(emit, facts_class_op_count(analysis, row->class));
	for (size_t f = 0; f < list->count; f++)
		emit_saving(analysis, emit, row->estimates[f].saved_ns);
	emit_prospects(analysis, emit, row, ranged_factor(emit, list));
	if (emit->format == EMIT_JSON)
		emit_json_figures(analysis, emit, row);
	emit_row_end(emit);
}

/* How many rows there are to show: text leaves out those that another one stands for. */
static size_t rows_to_show(const struct analysis *analysis, const struct emit *emit,
			   size_t row_count)
{
	size_t count = 0;
	for (size_t i = 0; i < row_count; i++)
		count += emit->format != EMIT_TEXT || !report_is_repeated(analysis, i);
	return count;
}

/* How many were shown, and whether one of them stands for others, too. */
static size_t emit_rows(const struct analysis *analysis, struct emit *emit, size_t row_count,
			bool *has_same)
{
	const char *function;
	size_t shown = 0;
	for (size_t i = 0; i < row_count && shown < analysis->options->top; i++) {
		if (emit->format == EMIT_TEXT && report_is_repeated(analysis, i))
			continue;
		emit_row(analysis, emit, i);
		shown++;
		*has_same = *has_same || report_repeated(analysis, i, &function) > 0;
	}
	return shown;
}

void report_whatif(const struct analysis *analysis, struct emit *emit)
{
	const struct whatif *whatif = &analysis->whatif;
	const struct factor_list *list = &analysis->options->factors;
	struct factor_names *names = memory_new(1, sizeof(*names));
	struct emit_column columns[EMIT_COLUMNS_MAX];
	size_t column_count = whatif_columns(emit, list, names, columns);
	size_t row_count = analysis->checks.is_withheld ? 0 : whatif->row_count;
	if (emit->format == EMIT_TEXT)
		column_count -= (FIGURES - 1) * list->count;
	else if (emit->is_brief)
		column_count -= FINISH_FIGURES * list->count;
	columns_hide(analysis, columns, ranged_factor(emit, list));
	emit_heading(emit,
		     "What would a fix buy? (time saved in the whole run if a class takes x times "
		     "as long)");
	if (analysis->checks.is_withheld)
		report_withheld(analysis, emit);
	else if (whatif->row_count == 0)
		emit_line(emit,
			  "No class has enough self time; --min-self sets how much is enough.");
	emit_table_begin(emit, "what_if", EMIT_OBJECTS, columns, column_count);
	bool has_same = false;
	size_t shown = emit_rows(analysis, emit, row_count, &has_same);
	emit_table_end(emit);
	if (rows_to_show(analysis, emit, row_count) > shown)
		emit_line(emit, "... and %zu more; --top shows them.",
			  rows_to_show(analysis, emit, row_count) - shown);
	if (has_same)
		emit_line(emit, "= F: the function F takes the same time, and would save the same; "
				"+N: so do N more.");
	if (row_count) {
		report_next_limit(analysis, 0, emit); /* columns that say so may be left out */
		report_pinned(analysis, emit);
	}
	free(names);
}
