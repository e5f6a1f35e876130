/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a row, as members of an object of JSON. */
#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "base/emit.h"
#include "measure/contention.h"
#include "rows_parts.h"

enum { NS_PER_SECOND = 1000000000 };

void row_begin(struct rows *rows, enum rows_table table)
{
	rows->file = rows->files[table];
	rows->has_entry = false;
	fputc('{', rows->file);
	if (table != ROWS_STACK)
		row_text(rows, "window", rows->window);
}

void row_end(struct rows *rows)
{
	fputs("}\n", rows->file);
}

static void put_column(struct rows *rows, const char *column)
{
	fprintf(rows->file, "%s\"%s\":", rows->has_entry ? "," : "", column);
	rows->has_entry = true;
}

void row_text(struct rows *rows, const char *column, const char *text)
{
	put_column(rows, column);
	emit_json_string(rows->file, text);
}

void row_count(struct rows *rows, const char *column, uint64_t count)
{
	put_column(rows, column);
	fprintf(rows->file, "%" PRIu64, count);
}

void row_ns(struct rows *rows, const char *column, double ns)
{
	put_column(rows, column);
	if (isfinite(ns))
		fprintf(rows->file, "%.0f", ns == 0 ? 0.0 : ns);
	else
		fputs("null", rows->file);
}

void row_number(struct rows *rows, const char *column, double number)
{
	put_column(rows, column);
	if (isfinite(number))
		fprintf(rows->file, "%.9g", number);
	else
		fputs("null", rows->file);
}

void row_flag(struct rows *rows, const char *column, bool is_set)
{
	put_column(rows, column);
	fputs(is_set ? "true" : "false", rows->file);
}

void row_time(struct rows *rows, const char *column, uint64_t at_ns)
{
	uint64_t unix_ns = rows->analysis->recording->epoch_unix_ns + at_ns;
	time_t second = (time_t)(unix_ns / NS_PER_SECOND);
	struct tm day;
	char text[32];
	put_column(rows, column);
	gmtime_r(&second, &day);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &day);
	fprintf(rows->file, "\"%s.%09" PRIu64 "Z\"", text, unix_ns % NS_PER_SECOND);
}

void row_histogram(struct rows *rows, const char *column, const uint32_t *bins)
{
	size_t count = CONTENTION_BINS;
	put_column(rows, column);
	while (count > 0 && bins[count - 1] == 0)
		count--;
	fputc('[', rows->file);
	for (size_t i = 0; i < count; i++)
		fprintf(rows->file, "%s%" PRIu32, i ? "," : "", bins[i]);
	fputc(']', rows->file);
}

void row_stack(struct rows *rows, const char *column, uint32_t stack)
{
	char id[ROW_ID_BYTES] = "";
	uint32_t same = rows->stacks.same[stack];
	if (same) {
		rows->stacks.is_named[same] = true;
		row_id_text(rows->stacks.ids[same], id);
	}
	row_text(rows, column, id);
}

void row_map_begin(struct rows *rows, const char *column)
{
	put_column(rows, column);
	fputc('{', rows->file);
	rows->has_entry = false;
}

static void put_key(struct rows *rows, const char *key)
{
	if (rows->has_entry)
		fputc(',', rows->file);
	emit_json_string(rows->file, key);
	fputc(':', rows->file);
	rows->has_entry = true;
}

void row_map_count(struct rows *rows, const char *key, uint64_t count)
{
	put_key(rows, key);
	fprintf(rows->file, "%" PRIu64, count);
}

void row_map_text(struct rows *rows, const char *key, const char *text)
{
	put_key(rows, key);
	emit_json_string(rows->file, text);
}

void row_map_end(struct rows *rows)
{
	fputc('}', rows->file);
	rows->has_entry = true;
}
