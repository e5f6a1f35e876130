/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the JSON report would not always be JSON, or tables would not line up.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "suite.h"

static const struct emit_column columns[] = {
	{ .key = "name", .head = "name", .is_flexible = true },
	{ .key = "count", .head = "count", .align = EMIT_RIGHT },
	{ .key = NULL, .head = "only text" },
	{ .key = "0", .head = "x0", .align = EMIT_RIGHT, .group = "saved_ns" },
	{ .key = "0.5", .head = "x0.5", .align = EMIT_RIGHT, .group = "saved_ns" },
	{ .key = "map", .head = "map" },
	{ .key = "hidden", .head = NULL },
};

static void emit_one_row(struct emit *emit, const char *name)
{
	emit_row_begin(emit);
	emit_cell_text(emit, name);
	emit_cell_count(emit, INT64_MAX);
	emit_cell_percent(emit, 12.345);
	emit_cell_ns(emit, 1500000);
	emit_cell_ns(emit, -2.0);
	emit_cell_map_begin(emit);
	emit_cell_map_entry(emit, "ok", 3);
	emit_cell_map_entry(emit, "", 1);
	emit_cell_map_end(emit);
	emit_cell_count(emit, 9);
	emit_row_end(emit);
}

static char *emit_all(enum emit_format format, size_t width, const char *name, int rows)
{
	static const struct emit_column value = { .key = "op", .head = "op" };
	static const struct emit_column pair[] = { { .key = "from", .head = "from" },
						   { .key = "to", .head = "to" } };
	struct emit emit;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, format, width, false);
	emit_count(&emit, "ops", "Ops", 7);
	emit_ns(&emit, "span", NULL, 0);
	emit_text(&emit, "who", "Who", name);
	emit_heading(&emit, "A table");
	emit_line(&emit, "said %s", name);
	emit_table_begin(&emit, "rows", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (int i = 0; i < rows; i++)
		emit_one_row(&emit, name);
	emit_table_end(&emit);
	emit_table_begin(&emit, "values", EMIT_VALUES, &value, 1);
	for (int i = 0; i < rows; i++) {
		emit_row_begin(&emit);
		emit_cell_count(&emit, (uint64_t)i);
		emit_row_end(&emit);
	}
	emit_table_end(&emit);
	emit_table_begin(&emit, "pairs", EMIT_ARRAYS, pair, 2);
	for (int i = 0; i < rows; i++) {
		emit_row_begin(&emit);
		emit_cell_count(&emit, (uint64_t)i);
		emit_cell_ns(&emit, i);
		emit_row_end(&emit);
	}
	emit_table_end(&emit);
	emit_end(&emit);
	fclose(file);
	return text;
}

static const char *const names[] = {
	/* 0 */ "plain",
	/* 1 */ "",
	/* 2 */ "quote \" and \\ back",
	/* 3 */ "line\nfeed\ttab\x01\x7F",
	/* 4: no UTF-8 */ "bad \xFF\xC0\xAF\xED\xA0\x80 end\xE2",
	/* 5 */ "\xF0\x9F\x98\x80 wide",
};

START_TEST(json_is_valid_whatever_the_names)
{
	for (int rows = 0; rows < 3; rows++) {
		char *text = emit_all(EMIT_JSON, 0, names[_i], rows);
		json_error_t error;
		json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
		ck_assert_msg(root != NULL, "%s in %s", error.text, text);
		ck_assert_int_eq(json_integer_value(json_object_get(root, "ops")), 7);
		ck_assert_uint_eq(json_array_size(json_object_get(root, "rows")), (size_t)rows);
		ck_assert_uint_eq(json_array_size(json_object_get(root, "values")), (size_t)rows);
		json_decref(root);
		free(text);
	}
}
END_TEST

START_TEST(groups_maps_and_hidden_columns)
{
	char *text = emit_all(EMIT_JSON, 0, "n", 1);
	json_t *root = json_loads(text, JSON_DECODE_INT_AS_REAL, NULL);
	json_t *row = json_array_get(json_object_get(root, "rows"), 0);
	json_t *saved = json_object_get(row, "saved_ns");
	ck_assert_uint_eq(json_object_size(saved), 2);
	ck_assert_double_eq(json_real_value(json_object_get(saved, "0")), 1500000);
	ck_assert_double_eq(json_real_value(json_object_get(saved, "0.5")), -2);
	ck_assert_double_eq(json_real_value(json_object_get(json_object_get(row, "map"), "ok")), 3);
	ck_assert_double_eq(json_real_value(json_object_get(row, "hidden")), 9);
	ck_assert_uint_eq(json_object_size(row), 5);
	ck_assert_uint_eq(json_array_size(json_array_get(json_object_get(root, "pairs"), 0)), 2);
	json_decref(root);
	free(text);
	ck_assert_ptr_nonnull(strstr(text = emit_all(EMIT_JSON, 0, "n", 1), "9223372036854775807"));
	free(text);
}
END_TEST

START_TEST(text_lines_up)
{
	char *text = emit_all(EMIT_TEXT, 0, "n", 2);
	ck_assert_str_eq(text,
			 "Ops                  7\n"
			 "Who                  n\n"
			 "\nA table\n"
			 "said n\n"
			 "name                count  only text       x0   x0.5  map\n"
			 "n     9223372036854775807  12.3%      1.50 ms  -2 ns  ok 3, none 1\n"
			 "n     9223372036854775807  12.3%      1.50 ms  -2 ns  ok 3, none 1\n"
			 "op\n0\n1\n"
			 "from  to\n0     0\n1     1 ns\n");
	free(text);
}
END_TEST

START_TEST(long_names_give_way_to_the_width)
{
	char name[200];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	char *text = emit_all(EMIT_TEXT, 100, name, 1), *save = NULL;
	size_t row = 0;
	for (char *line = strtok_r(strstr(text, "name "), "\n", &save); line && row < 2;
	     line = strtok_r(NULL, "\n", &save), row++)
		ck_assert_uint_le(strlen(line), 100);
	ck_assert_uint_eq(row, 2);
	free(text);
}
END_TEST

static const struct {
	double ns;
	const char *expected;
} durations[] = {
	/*  0 */ { 0, "0" },
	/*  1 */ { 1, "1 ns" },
	/*  2 */ { 999, "999 ns" },
	/*  3 */ { 1000, "1.00 us" },
	/*  4 */ { 12345, "12.3 us" },
	/*  5 */ { 999499, "999 us" },
	/*  6 */ { 999999, "1.00 ms" },
	/*  7 */ { -1500000, "-1.50 ms" },
	/*  8 */ { 31e9, "31.0 s" },
	/*  9 */ { 1234e9, "1234 s" },
};

START_TEST(durations_have_three_digits_and_a_unit)
{
	char text[EMIT_DURATION_BYTES];
	emit_format_duration(text, durations[_i].ns);
	ck_assert_str_eq(text, durations[_i].expected);
}
END_TEST

SUITE()
{
	EACH(json_is_valid_whatever_the_names, names);
	TEST(groups_maps_and_hidden_columns);
	TEST(text_lines_up);
	TEST(long_names_give_way_to_the_width);
	EACH(durations_have_three_digits_and_a_unit, durations);
}
