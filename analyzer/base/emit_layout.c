/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of text in lines of a given length.
 *
 * Columns that yield are left out first, the highest number first, as long as names would get
 * shorter than wished. Then the widest flexible columns are cut. One thread.
 */
#include <assert.h>
#include <stdlib.h>

#include "emit_parts.h"
#include "memory.h"
#include "shorten.h"
#include "utf8.h"

enum {
	FLEXIBLE_MIN = 12,
	FLEXIBLE_WISH = 24, /* columns yield before a name gets shorter */
	SCREEN_WISH = 40,   /* the same, on the first screen */
	COLUMN_GAP = 2
};

/* The widths that the columns would like to have; 0 = not shown. */
static void table_widths(const struct emit *emit, size_t widths[EMIT_COLUMNS_MAX])
{
	for (size_t c = 0; c < emit->column_count; c++) {
		widths[c] = emit->columns[c].head ? utf8_columns(emit->columns[c].head) : 0;
		for (size_t i = c; emit->columns[c].head && i < emit->cell_count;
		     i += emit->column_count)
			if (emit->cells[i].columns > widths[c])
				widths[c] = emit->cells[i].columns;
	}
}

/* Columns of a line whose names are cut to so much. */
static size_t line_columns(const struct emit *emit, const size_t widths[EMIT_COLUMNS_MAX],
			   size_t flexible_most)
{
	size_t total = 0;
	for (size_t c = 0; c < emit->column_count; c++) {
		bool is_cut = emit->columns[c].is_flexible && widths[c] > flexible_most;
		if (widths[c] > 0)
			total += (is_cut ? flexible_most : widths[c]) + (total ? COLUMN_GAP : 0);
	}
	return total;
}

/* Leaves out what has to yield for the line to fit; returns how many. */
static size_t columns_yield(const struct emit *emit, size_t widths[EMIT_COLUMNS_MAX])
{
	size_t left_out = 0, wish = emit->is_screen ? SCREEN_WISH : FLEXIBLE_WISH;
	while (emit->width_columns > 0 && line_columns(emit, widths, wish) > emit->width_columns) {
		size_t first = emit->column_count;
		for (size_t c = 0; c < emit->column_count; c++)
			if (widths[c] > 0 && emit->columns[c].yields > 0 &&
			    (first == emit->column_count ||
			     emit->columns[c].yields > emit->columns[first].yields))
				first = c;
		if (first == emit->column_count)
			break;
		widths[first] = 0;
		left_out++;
	}
	return left_out;
}

/* The widest flexible column gives way, until the line fits. */
static void columns_cut(const struct emit *emit, size_t widths[EMIT_COLUMNS_MAX])
{
	size_t total = line_columns(emit, widths, SIZE_MAX);
	for (; emit->width_columns > 0 && total > emit->width_columns; total--) {
		size_t widest = emit->column_count;
		for (size_t c = 0; c < emit->column_count; c++)
			if (emit->columns[c].is_flexible && widths[c] > FLEXIBLE_MIN &&
			    (widest == emit->column_count || widths[c] > widths[widest]))
				widest = c;
		if (widest == emit->column_count)
			break;
		widths[widest]--;
	}
}

/* Cuts what is too long for its column. Different names stay different. */
static void cells_cut(struct emit *emit, const size_t widths[EMIT_COLUMNS_MAX])
{
	size_t rows = emit->cell_count / emit->column_count;
	char **column = memory_new(rows, sizeof(*column));
	for (size_t c = 0; c < emit->column_count; c++) {
		bool is_cut = false;
		for (size_t i = 0; i < rows; i++) {
			column[i] = emit->cells[i * emit->column_count + c].text;
			is_cut |= emit->cells[i * emit->column_count + c].columns > widths[c];
		}
		if (widths[c] == 0 || !is_cut)
			continue;
		shorten_all(column, rows, widths[c]);
		for (size_t i = 0; i < rows; i++)
			emit->cells[i * emit->column_count + c] =
				(struct emit_cell){ column[i], utf8_columns(column[i]) };
	}
	free(column);
}

static void print_cell(const struct emit *emit, const struct emit_column *column, const char *text,
		       size_t width, bool is_last)
{
	size_t columns = utf8_columns(text);
	int space = (int)(width > columns ? width - columns : 0);
	if (column->align == EMIT_RIGHT)
		fprintf(emit->file, "%*s%s", space, "", text);
	else
		fprintf(emit->file, "%s%*s", text, is_last ? 0 : space, "");
	if (!is_last)
		fprintf(emit->file, "%*s", COLUMN_GAP, "");
}

/* One row, without the spaces that would end it. */
static void print_row(const struct emit *emit, const size_t widths[EMIT_COLUMNS_MAX],
		      const struct emit_cell *cells)
{
	size_t last = 0;
	for (size_t c = 0; c < emit->column_count; c++)
		if (widths[c] > 0 && (!cells || cells[c].columns > 0))
			last = c;
	for (size_t c = 0; c <= last; c++)
		if (widths[c] > 0)
			print_cell(emit, &emit->columns[c],
				   cells ? cells[c].text : emit->columns[c].head, widths[c],
				   c == last);
}

void emit_layout(struct emit *emit)
{
	size_t widths[EMIT_COLUMNS_MAX];
	assert(emit->columns && emit->cell_count % emit->column_count == 0);
	table_widths(emit, widths);
	size_t left_out = columns_yield(emit, widths);
	columns_cut(emit, widths);
	cells_cut(emit, widths);
	fputs(emit->has_color ? "\033[4m" : "", emit->file);
	print_row(emit, widths, NULL);
	fputs(emit->has_color ? "\033[0m\n" : "\n", emit->file);
	for (size_t i = 0; i < emit->cell_count; i += emit->column_count) {
		print_row(emit, widths, &emit->cells[i]);
		fputc('\n', emit->file);
	}
	if (left_out > 0)
		emit_line(emit, "(%zu more column%s: --wide)", left_out, left_out == 1 ? "" : "s");
}
