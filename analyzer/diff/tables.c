/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of a comparison; tables.h has the contract.
 *
 * Rows of a class stay together, and classes come in order of their largest difference in time per
 * unit. Waits have a table of their own: they follow from what was done meanwhile.
 */
#include "tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* A part of a difference from 0.1 to 0.9 of it is neither nothing nor all. */
static const double HALF = 0.5, NEITHER = 0.4;

/* The found rows of one class. */
struct group {
	size_t first, count; /* in the comparison's rows, all of them */
	double weight_ns;
};

static const char *const figure_words[FIGURE_ALL] = { [FIGURE_MEAN] = "mean",
						      [FIGURE_P50] = "median",
						      [FIGURE_P95] = "p95",
						      [FIGURE_P99] = "p99",
						      [FIGURE_CPU] = "CPU",
						      [FIGURE_CLASS_COUNT] = "count",
						      [FIGURE_CLASS_TIME] = "time",
						      [FIGURE_CLASS_BLOCKED] = "blocked",
						      [FIGURE_CLASS_CPU] = "CPU",
						      [FIGURE_CLASS_QUEUED] = "queued",
						      [FIGURE_CLASS_EACH] = "one each",
						      [FIGURE_CLASS_USUAL] = "usual one" };

/* "median", or of a class "held" and the like. */
static const char *figure_word(const struct difference *row)
{
	const struct cost_class *class = difference_class(row);
	if (row->figure == FIGURE_CLASS_TIME && class->is_wait)
		return "waited";
	if (row->figure == FIGURE_CLASS_TIME && strcmp(class->kind, "hold") == 0)
		return "held";
	return figure_words[row->figure];
}

const char *tables_value(char text[TABLES_VALUE_BYTES], enum diff_figure figure, double value,
			 bool has_sign)
{
	char duration[EMIT_DURATION_BYTES];
	double size = fabs(value);
	const char *sign = !has_sign ? "" : value > 0 ? "+" : value < 0 ? "-" : "";
	if (figure == FIGURE_CLASS_COUNT) {
		snprintf(text, TABLES_VALUE_BYTES, "%s%.*f", sign,
			 size < 9.995 && size != floor(size)   ? 2
			 : size < 99.95 && size != floor(size) ? 1
							       : 0,
			 has_sign ? size : value);
		return text;
	}
	emit_format_duration(duration, has_sign ? size : value);
	snprintf(text, TABLES_VALUE_BYTES, "%s%s", sign, duration);
	return text;
}

/* --- rows --- */

static const struct emit_column columns[] = {
	{ .key = "class", .head = "class", .is_flexible = true },
	{ .key = "kind", .head = "kind" },
	{ .key = "figure", .head = "what" },
	{ .key = "old", .head = "OLD", .align = EMIT_RIGHT },
	{ .key = "new", .head = "NEW", .align = EMIT_RIGHT },
	{ .key = "delta", .head = "difference", .align = EMIT_RIGHT },
	{ .head = "95% interval", .align = EMIT_RIGHT },
	{ .key = "least" },
	{ .key = "most" },
	{ .key = "chance" },
	{ .key = "is_found" },
	{ .key = "is_wait" },
	{ .key = "is_path" },
	{ .key = "is_within" },
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* None, if it is not known. */
static void emit_number(struct emit *emit, double value)
{
	if (isnan(value))
		emit_cell_ns(emit, value);
	else
		emit_cell_number(emit, value);
}

static void emit_value(struct emit *emit, const struct difference *row, double value, bool is_there,
		       bool has_sign)
{
	char text[TABLES_VALUE_BYTES];
	if (isnan(value) || emit->format == EMIT_JSON)
		emit_number(emit, value);
	else
		emit_cell_text(emit, is_there ? tables_value(text, row->figure, value, has_sign)
					      : "none");
}

static void emit_interval(struct emit *emit, const struct difference *row)
{
	char least[TABLES_VALUE_BYTES], most[TABLES_VALUE_BYTES], text[2 * TABLES_VALUE_BYTES + 4];
	if (isnan(row->delta)) {
		emit_cell_text(emit, "not known");
		return;
	}
	snprintf(text, sizeof(text), "%s .. %s", tables_value(least, row->figure, row->least, true),
		 tables_value(most, row->figure, row->most, true));
	emit_cell_text(emit, text);
}

static void emit_row(struct emit *emit, const struct difference *row, bool is_first)
{
	const struct cost_class *class = difference_class(row);
	bool is_json = emit->format == EMIT_JSON;
	emit_row_begin(emit);
	emit_cell_text(emit, class && (is_first || is_json) ? class->name : "");
	emit_cell_text(emit, class && (is_first || is_json) ? class->kind : "");
	emit_cell_text(emit, figure_word(row));
	emit_value(emit, row, row->old_value, !class || row->old_class, false);
	emit_value(emit, row, row->new_value, !class || row->new_class, false);
	emit_value(emit, row, row->delta, true, true);
	emit_interval(emit, row);
	emit_number(emit, row->least);
	emit_number(emit, row->most);
	emit_cell_number(emit, row->chance);
	emit_cell_flag(emit, row->is_found);
	emit_cell_flag(emit, class && class->is_wait);
	emit_cell_flag(emit, class && class->is_path);
	emit_cell_flag(emit, class && class->is_within);
	emit_row_end(emit);
}

/* --- what a unit takes --- */

static const struct emit_column whole_columns[] = {
	{ .head = "" },
	{ .head = "OLD", .align = EMIT_RIGHT },
	{ .head = "NEW", .align = EMIT_RIGHT },
	{ .head = "difference", .align = EMIT_RIGHT },
	{ .head = "95% interval", .align = EMIT_RIGHT },
	{ .head = "" },
};

static void print_whole(const struct comparison *comparison, struct emit *emit)
{
	bool is_run = comparison->new_costs->unit == UNIT_RUN;
	emit_heading(emit, is_run ? "What does a run take?" : "What does a request take?");
	emit_table_begin(emit, NULL, EMIT_OBJECTS, whole_columns,
			 sizeof(whole_columns) / sizeof(whole_columns[0]));
	for (size_t i = 0; i < comparison->whole_count; i++) {
		const struct difference *row = &comparison->rows[i];
		bool is_time = row->figure == FIGURE_MEAN && is_run;
		emit_row_begin(emit);
		emit_cell_text(emit, is_time ? "time" : figure_word(row));
		emit_value(emit, row, row->old_value, true, false);
		emit_value(emit, row, row->new_value, true, false);
		emit_value(emit, row, row->delta, true, true);
		emit_interval(emit, row);
		emit_cell_text(emit, isnan(row->delta) ? "too few finished"
				     : row->is_found   ? ""
						       : "may be chance");
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

/* --- classes --- */

/* In time per unit, whatever the figure. */
static double weight_of(const struct difference *row)
{
	if (!row->is_found || row->figure == FIGURE_CLASS_COUNT ||
	    row->figure == FIGURE_CLASS_EACH || row->figure == FIGURE_CLASS_USUAL)
		return 0;
	return fabs(row->delta);
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;
	if (a->weight_ns != b->weight_ns)
		return a->weight_ns > b->weight_ns ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

/* Tables of classes. */
enum table { TABLE_PATHS, TABLE_WORK, TABLE_WAITS, TABLES };

static const char *const headings[TABLES] = {
	[TABLE_PATHS] = "What is a request's time made of? (the ways of requests, which add up)",
	[TABLE_WORK] = "What is done more or less?",
	[TABLE_WAITS] = "What is waited for longer, or shorter? (for work as above)",
};

static enum table table_of(const struct cost_class *class)
{
	return class->is_path ? TABLE_PATHS : class->is_wait ? TABLE_WAITS : TABLE_WORK;
}

/* The classes of a table with a finding; to be freed. */
static struct group *groups_of(const struct comparison *comparison, enum table table, size_t *count)
{
	struct group *groups = memory_new(comparison->count, sizeof(*groups));
	*count = 0;
	for (size_t from = comparison->whole_count, to; from < comparison->count; from = to) {
		const struct cost_class *class = difference_class(&comparison->rows[from]);
		struct group group = { .first = from };
		bool has_finding = false;
		for (to = from;
		     to < comparison->count && difference_class(&comparison->rows[to]) == class;
		     to++) {
			has_finding = has_finding || comparison->rows[to].is_found;
			group.weight_ns = fmax(group.weight_ns, weight_of(&comparison->rows[to]));
		}
		group.count = to - from;
		if (has_finding && table_of(class) == table)
			groups[(*count)++] = group;
	}
	if (*count > 1)
		qsort(groups, *count, sizeof(*groups), compare_groups);
	return groups;
}

static const struct difference *row_of(const struct comparison *comparison,
				       const struct group *group, enum diff_figure figure)
{
	for (size_t i = group->first; i < group->first + group->count; i++)
		if (comparison->rows[i].figure == figure)
			return &comparison->rows[i];
	return NULL;
}

/* A row adds something. One op's length does if the number of ops differs. A part of the time does
 * if it is neither all of its difference nor next to nothing. */
static bool is_told(const struct comparison *comparison, const struct group *group,
		    const struct difference *row)
{
	const struct difference *time = row_of(comparison, group, FIGURE_CLASS_TIME);
	const struct difference *number = row_of(comparison, group, FIGURE_CLASS_COUNT);
	if (!row->is_found || !time || row == time || row == number)
		return row->is_found;
	if (row->figure == FIGURE_CLASS_EACH)
		return number && number->is_found;
	if (row->figure == FIGURE_CLASS_USUAL)
		return !time->is_found;
	double part = time->delta != 0 ? row->delta / time->delta : 0;
	return !time->is_found || fabs(part - HALF) < NEITHER;
}

static void print_classes(const struct comparison *comparison, struct emit *emit, size_t top,
			  enum table table)
{
	size_t count;
	struct group *groups = groups_of(comparison, table, &count);
	if (count == 0) {
		free(groups);
		return;
	}
	emit_heading(emit, headings[table]);
	emit_table_begin(emit, NULL, EMIT_OBJECTS, columns, COLUMNS);
	for (size_t i = 0; i < count && i < top; i++) {
		bool is_first = true;
		for (size_t k = 0; k < groups[i].count; k++) {
			const struct difference *row = &comparison->rows[groups[i].first + k];
			if (!is_told(comparison, &groups[i], row))
				continue;
			emit_row(emit, row, is_first);
			is_first = false;
		}
	}
	emit_table_end(emit);
	if (count > top)
		emit_line(emit, "%zu more with smaller differences: --top %zu", count - top, count);
	free(groups);
}

static void print_left_out(const struct comparison *comparison, struct emit *emit)
{
	char sum[TABLES_VALUE_BYTES], small[TABLES_VALUE_BYTES];
	double sum_ns = 0;
	size_t count = 0;
	for (size_t i = comparison->whole_count; i < comparison->count; i++) {
		const struct difference *row = &comparison->rows[i];
		if (row->is_found || row->figure != FIGURE_CLASS_TIME ||
		    difference_class(row)->is_path)
			continue;
		count++;
		sum_ns += difference_class(row)->is_within ? 0 : row->delta;
	}
	if (count > 0)
		emit_line(emit,
			  "Left out, as it may be chance: the time of %zu classes, %s in all.",
			  count, tables_value(sum, FIGURE_CLASS_TIME, sum_ns, true));
	if (comparison->small_count > 0)
		emit_line(emit, "Left out, as it is next to nothing: %zu classes, %s in all.",
			  comparison->small_count,
			  tables_value(small, FIGURE_CLASS_TIME,
				       comparison->small_new_ns - comparison->small_old_ns, true));
}

static void print_json(const struct comparison *comparison, struct emit *emit)
{
	emit_table_begin(emit, "rows", EMIT_OBJECTS, columns, COLUMNS);
	for (size_t i = 0; i < comparison->count; i++)
		emit_row(emit, &comparison->rows[i], true);
	emit_table_end(emit);
	emit_count(emit, "small_classes", NULL, comparison->small_count);
	emit_ns(emit, "small_old_ns", NULL, comparison->small_old_ns);
	emit_ns(emit, "small_new_ns", NULL, comparison->small_new_ns);
}

void tables_print(const struct comparison *comparison, struct emit *emit, size_t top)
{
	if (emit->format == EMIT_JSON) {
		print_json(comparison, emit);
		return;
	}
	print_whole(comparison, emit);
	for (enum table table = TABLE_PATHS; table < TABLES; table++)
		print_classes(comparison, emit, top, table);
	print_left_out(comparison, emit);
}
