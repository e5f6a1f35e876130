/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a report as text or as one JSON object, from the same calls.
 *
 * A report says each thing once: scalars, and tables of rows of cells. A key names a thing in JSON,
 * a label or a head in text; whichever is NULL is left out there. JSON output is always valid,
 * whatever is in the names; in text, control characters in names are shown escaped. One thread, one
 * file.
 */
#ifndef WCPROF_EMIT_H
#define WCPROF_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EMIT_COLUMNS_MAX = 512, EMIT_DURATION_BYTES = 32 };

enum emit_format { EMIT_TEXT, EMIT_JSON };

enum emit_align { EMIT_LEFT, EMIT_RIGHT };

/* How a table's rows look in JSON: {"key": cell, ...}, [cell, ...], or the one cell that has a key.
 */
enum emit_rows { EMIT_OBJECTS, EMIT_ARRAYS, EMIT_VALUES };

struct emit_column {
	const char *key;  /* JSON; NULL = text only */
	const char *head; /* text; NULL = JSON only */
	enum emit_align align;
	bool is_flexible;  /* text: gives way when the line would be too long */
	const char *group; /* JSON: columns in a row with the same group become one object of that
			      name */
	unsigned yields;   /* text: left out when that is not enough, the highest number first; 0 =
			      never */
};

struct emit_cell;

struct emit {
	FILE *file;
	enum emit_format format;
	size_t width_columns; /* text: where lines end; 0 = nowhere */
	bool has_color;
	bool is_brief;  /* JSON: without figures of which there is one for each thread and row */
	bool is_screen; /* text: the first screen, which says less */
	/* From here on private. */
	bool needs_comma;
	size_t depth;
	const struct emit_column *columns;
	size_t column_count;
	size_t column; /* of the next cell */
	enum emit_rows rows;
	const char *group;
	struct emit_cell *cells; /* text: the table so far, row by row */
	size_t cell_count, cell_room;
	char *map_text; /* text: the cell of a map in the making */
	size_t map_room, map_length;
};

void emit_begin(struct emit *emit, FILE *file, enum emit_format format, size_t width_columns,
		bool has_color);
void emit_end(struct emit *emit);

void emit_count(struct emit *emit, const char *key, const char *label, uint64_t count);
void emit_ns(struct emit *emit, const char *key, const char *label, double ns);
void emit_text(struct emit *emit, const char *key, const char *label, const char *text);

/* Text only: a heading, a line of prose, one behind a label, one that should not be overlooked. */
void emit_heading(struct emit *emit, const char *heading);
void emit_line(struct emit *emit, const char *format, ...) __attribute__((format(printf, 2, 3)));
void emit_labelled(struct emit *emit, const char *label, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void emit_strong_line(struct emit *emit, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Columns stay in place until emit_table_end. Every row has one cell per column, in order. */
void emit_table_begin(struct emit *emit, const char *key, enum emit_rows rows,
		      const struct emit_column *columns, size_t column_count);
void emit_row_begin(struct emit *emit);
void emit_cell_text(struct emit *emit, const char *text);
void emit_cell_count(struct emit *emit, uint64_t count);
void emit_cell_ns(struct emit *emit, double ns);
/* "1234", "12.3", "1.23". */
void emit_cell_number(struct emit *emit, double number);
void emit_cell_percent(struct emit *emit, double percent);
void emit_cell_flag(struct emit *emit, bool is_set);
void emit_cell_map_begin(struct emit *emit);
void emit_cell_map_entry(struct emit *emit, const char *key, uint64_t count);
void emit_cell_map_end(struct emit *emit);
void emit_row_end(struct emit *emit);
void emit_table_end(struct emit *emit);

/* "12.3 ms" and the like. */
void emit_format_duration(char text[EMIT_DURATION_BYTES], double ns);

/* A JSON string with quotes; bytes that are no UTF-8 become U+FFFD. */
void emit_json_string(FILE *file, const char *text);

#endif
