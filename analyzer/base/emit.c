/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text and JSON from the same calls.
 *
 * JSON is written as it comes. A table in text is kept until its end, when the widths of its
 * columns are known: emit_layout.c prints it.
 *
 * A stack of open objects, arrays and tables says what may come next, and is asserted. One thread
 * for each struct emit.
 */
#include "emit.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit_parts.h"
#include "memory.h"
#include "utf8.h"

enum { LABEL_COLUMNS = 20 };

void emit_json_string(FILE *file, const char *text)
{
	fputc('"', file);
	for (size_t length; *text; text += length) {
		uint32_t character = utf8_next(text, &length);
		if (character == '"' || character == '\\')
			fprintf(file, "\\%c", (int)character);
		else if (character < 0x20 || character == 0x7F)
			fprintf(file, "\\u%04x", (unsigned)character);
		else if (character == UTF8_INVALID)
			fputs("\xEF\xBF\xBD", file);
		else
			fwrite(text, 1, length, file);
	}
	fputc('"', file);
}

void emit_format_duration(char text[EMIT_DURATION_BYTES], double ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	double size = fabs(ns);
	size_t at = 0;
	/* 999.6 us is shown as 1.00 ms, not as 1000 us. */
	while (at < 3 && size < units[at].ns * 0.9995)
		at++;
	double value = ns / units[at].ns, shown = fabs(value);
	int digits = at == 3 || shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
	if (ns == 0)
		snprintf(text, EMIT_DURATION_BYTES, "0");
	else
		snprintf(text, EMIT_DURATION_BYTES, "%.*f %s", digits, value, units[at].unit);
}

void emit_begin(struct emit *emit, FILE *file, enum emit_format format, size_t width_columns,
		bool has_color)
{
	*emit = (struct emit){ .file = file,
			       .format = format,
			       .width_columns = width_columns,
			       .has_color = has_color };
	if (format == EMIT_JSON)
		fputc('{', file);
}

void emit_end(struct emit *emit)
{
	assert(emit->depth == 0 && !emit->columns);
	if (emit->format == EMIT_JSON)
		fputs("\n}\n", emit->file);
	free(emit->cells);
	free(emit->map_text);
}

/* JSON: what goes before a value, in an object (key) or an array (NULL). */
static void json_next(struct emit *emit, const char *key)
{
	if (emit->needs_comma)
		fputc(',', emit->file);
	if (emit->depth == 0)
		fputs("\n ", emit->file);
	if (key) {
		emit_json_string(emit->file, key);
		fputs(": ", emit->file);
	}
	emit->needs_comma = true;
}

static void json_open(struct emit *emit, const char *key, char bracket)
{
	json_next(emit, key);
	fputc(bracket, emit->file);
	emit->needs_comma = false;
	emit->depth++;
}

static void json_close(struct emit *emit, char bracket)
{
	assert(emit->depth > 0);
	fputc(bracket, emit->file);
	emit->needs_comma = true;
	emit->depth--;
}

static void text_label(const struct emit *emit, const char *label, const char *value)
{
	char *printable = utf8_printable(value);
	fprintf(emit->file, "%-*s %s\n", LABEL_COLUMNS, label, printable);
	free(printable);
}

void emit_count(struct emit *emit, const char *key, const char *label, uint64_t count)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRIu64, count);
	if (emit->format == EMIT_JSON && key) {
		json_next(emit, key);
		fputs(text, emit->file);
	} else if (emit->format == EMIT_TEXT && label) {
		text_label(emit, label, text);
	}
}

void emit_ns(struct emit *emit, const char *key, const char *label, double ns)
{
	if (emit->format == EMIT_JSON && key) {
		json_next(emit, key);
		fprintf(emit->file, "%.0f", ns == 0 ? 0.0 : ns);
	} else if (emit->format == EMIT_TEXT && label) {
		char text[EMIT_DURATION_BYTES];
		emit_format_duration(text, ns);
		text_label(emit, label, text);
	}
}

void emit_text(struct emit *emit, const char *key, const char *label, const char *text)
{
	if (emit->format == EMIT_JSON && key) {
		json_next(emit, key);
		emit_json_string(emit->file, text);
	} else if (emit->format == EMIT_TEXT && label) {
		text_label(emit, label, text);
	}
}

void emit_table_begin(struct emit *emit, const char *key, enum emit_rows rows,
		      const struct emit_column *columns, size_t column_count)
{
	assert(!emit->columns && column_count > 0 && column_count <= EMIT_COLUMNS_MAX);
	emit->columns = columns;
	emit->column_count = column_count;
	emit->rows = rows;
	emit->cell_count = 0;
	if (emit->format == EMIT_JSON)
		json_open(emit, key, '[');
}

void emit_row_begin(struct emit *emit)
{
	assert(emit->columns);
	emit->column = 0;
	emit->group = NULL;
	if (emit->format != EMIT_JSON)
		return;
	fputs(emit->needs_comma ? ",\n  " : "\n  ", emit->file);
	emit->needs_comma = false;
	if (emit->rows != EMIT_VALUES)
		json_open(emit, NULL, emit->rows == EMIT_OBJECTS ? '{' : '[');
}

static void json_set_group(struct emit *emit, const char *group)
{
	if (emit->group && (!group || strcmp(group, emit->group) != 0))
		json_close(emit, '}');
	if (group && (!emit->group || strcmp(group, emit->group) != 0))
		json_open(emit, group, '{');
	emit->group = group;
}

/* The column of the next cell; in JSON with its key written, NULL when it is not shown there. */
static const struct emit_column *cell_next(struct emit *emit)
{
	assert(emit->column < emit->column_count);
	const struct emit_column *column = &emit->columns[emit->column++];
	if (emit->format != EMIT_JSON)
		return column;
	if (!column->key)
		return NULL;
	json_set_group(emit, column->group);
	return column;
}

static void json_cell(struct emit *emit, const struct emit_column *column)
{
	json_next(emit, emit->rows == EMIT_OBJECTS ? column->key : NULL);
}

static void text_cell(struct emit *emit, const char *text)
{
	emit->cells = memory_grow(emit->cells, &emit->cell_room, emit->cell_count + 1,
				  sizeof(*emit->cells));
	char *printable = utf8_printable(text);
	emit->cells[emit->cell_count++] = (struct emit_cell){ printable, utf8_columns(printable) };
}

void emit_cell_text(struct emit *emit, const char *text)
{
	const struct emit_column *column = cell_next(emit);
	if (emit->format == EMIT_TEXT) {
		text_cell(emit, text);
	} else if (column) {
		json_cell(emit, column);
		emit_json_string(emit->file, text);
	}
}

void emit_cell_count(struct emit *emit, uint64_t count)
{
	const struct emit_column *column = cell_next(emit);
	if (emit->format == EMIT_TEXT) {
		char text[32];
		snprintf(text, sizeof(text), "%" PRIu64, count);
		text_cell(emit, text);
	} else if (column) {
		json_cell(emit, column);
		fprintf(emit->file, "%" PRIu64, count);
	}
}

void emit_cell_ns(struct emit *emit, double ns)
{
	const struct emit_column *column = cell_next(emit);
	if (emit->format == EMIT_TEXT) {
		char text[EMIT_DURATION_BYTES] = "-";
		if (isfinite(ns))
			emit_format_duration(text, ns);
		text_cell(emit, text);
	} else if (column) {
		json_cell(emit, column);
		if (isfinite(ns))
			fprintf(emit->file, "%.0f", ns == 0 ? 0.0 : ns);
		else
			fputs("null", emit->file);
	}
}

void emit_cell_number(struct emit *emit, double number)
{
	const struct emit_column *column = cell_next(emit);
	if (!isfinite(number))
		number = 0;
	if (emit->format == EMIT_TEXT) {
		char text[32];
		double size = fabs(number);
		int digits = size == floor(size) || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
		snprintf(text, sizeof(text), "%.*f", digits, number);
		text_cell(emit, text);
	} else if (column) {
		json_cell(emit, column);
		fprintf(emit->file, "%.9g", number);
	}
}

void emit_cell_percent(struct emit *emit, double percent)
{
	const struct emit_column *column = cell_next(emit);
	if (!isfinite(percent))
		percent = 0;
	if (emit->format == EMIT_TEXT) {
		char text[32];
		snprintf(text, sizeof(text), "%.1f%%", fabs(percent) < 0.05 ? 0.0 : percent);
		text_cell(emit, text);
	} else if (column) {
		json_cell(emit, column);
		fprintf(emit->file, "%.3f", percent);
	}
}

void emit_cell_flag(struct emit *emit, bool is_set)
{
	const struct emit_column *column = cell_next(emit);
	if (emit->format == EMIT_TEXT) {
		text_cell(emit, is_set ? "yes" : "");
	} else if (column) {
		json_cell(emit, column);
		fputs(is_set ? "true" : "false", emit->file);
	}
}

void emit_cell_map_begin(struct emit *emit)
{
	const struct emit_column *column = cell_next(emit);
	emit->map_length = 0;
	emit->map_text = memory_grow(emit->map_text, &emit->map_room, 1, 1);
	emit->map_text[0] = '\0';
	if (emit->format == EMIT_JSON && column)
		json_open(emit, emit->rows == EMIT_OBJECTS ? column->key : NULL, '{');
}

void emit_cell_map_entry(struct emit *emit, const char *key, uint64_t count)
{
	if (emit->format == EMIT_JSON) {
		if (!emit->columns[emit->column - 1].key)
			return;
		json_next(emit, key);
		fprintf(emit->file, "%" PRIu64, count);
		return;
	}
	size_t room = strlen(key) + 32;
	emit->map_text = memory_grow(emit->map_text, &emit->map_room, emit->map_length + room, 1);
	emit->map_length +=
		(size_t)sprintf(emit->map_text + emit->map_length, "%s%s %" PRIu64,
				emit->map_length ? ", " : "", *key ? key : "none", count);
}

void emit_cell_map_end(struct emit *emit)
{
	if (emit->format == EMIT_TEXT)
		text_cell(emit, emit->map_text);
	else if (emit->columns[emit->column - 1].key)
		json_close(emit, '}');
}

void emit_row_end(struct emit *emit)
{
	assert(emit->column == emit->column_count);
	if (emit->format != EMIT_JSON)
		return;
	json_set_group(emit, NULL);
	if (emit->rows != EMIT_VALUES)
		json_close(emit, emit->rows == EMIT_OBJECTS ? '}' : ']');
}

void emit_table_end(struct emit *emit)
{
	assert(emit->columns);
	if (emit->format == EMIT_JSON) {
		json_close(emit, ']');
	} else if (emit->cell_count > 0) {
		emit_layout(emit);
		for (size_t i = 0; i < emit->cell_count; i++)
			free(emit->cells[i].text);
	}
	emit->columns = NULL;
	emit->cell_count = 0;
}
