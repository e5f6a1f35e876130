/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, lines of a table would be longer than the terminal, or names in it all the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "suite.h"

static char *emit_narrow(size_t width)
{
	static const struct emit_column four[] = {
		{ .head = "name", .is_flexible = true },
		{ .head = "first", .yields = 1 },
		{ .head = "second", .yields = 2 },
		{ .head = "stays" },
	};
	struct emit emit;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_TEXT, width, false);
	emit_table_begin(&emit, NULL, EMIT_OBJECTS, four, 4);
	emit_row_begin(&emit);
	emit_cell_text(&emit, "abcdefghijklmnopqrstuvwx");
	emit_cell_text(&emit, "1");
	emit_cell_text(&emit, "2");
	emit_cell_text(&emit, "");
	emit_row_end(&emit);
	emit_table_end(&emit);
	emit_end(&emit);
	fclose(file);
	return text;
}

static const struct {
	size_t width;
	const char *expected;
} narrow[] = {
	/* 0: no row ends in spaces */
	{ 0, "name                      first  second  stays\n"
	     "abcdefghijklmnopqrstuvwx  1      2\n" },
	/* 1 */
	{ 46, "name                      first  second  stays\n"
	      "abcdefghijklmnopqrstuvwx  1      2\n" },
	/* 2: the highest number goes first */
	{ 45, "name                      first  stays\n"
	      "abcdefghijklmnopqrstuvwx  1\n"
	      "(1 more column: --wide)\n" },
	/* 3 */
	{ 31, "name                      stays\n"
	      "abcdefghijklmnopqrstuvwx\n"
	      "(2 more columns: --wide)\n" },
};

START_TEST(columns_yield_before_names_get_short)
{
	char *text = emit_narrow(narrow[_i].width);
	ck_assert_str_eq(text, narrow[_i].expected);
	free(text);
}
END_TEST

/* Two names, each in both of two columns that may be cut. */
static char *emit_two(size_t width, const char *one, const char *other)
{
	static const struct emit_column columns[] = {
		{ .head = "name", .is_flexible = true },
		{ .head = "count", .align = EMIT_RIGHT },
		{ .head = "other", .is_flexible = true },
	};
	struct emit emit;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_TEXT, width, false);
	emit_table_begin(&emit, NULL, EMIT_OBJECTS, columns, 3);
	for (uint64_t i = 0; i < 2; i++) {
		emit_row_begin(&emit);
		emit_cell_text(&emit, i ? other : one);
		emit_cell_count(&emit, i);
		emit_cell_text(&emit, i ? one : other);
		emit_row_end(&emit);
	}
	emit_table_end(&emit);
	emit_end(&emit);
	fclose(file);
	return text;
}

START_TEST(the_widest_column_gives_way_first)
{
	char *text = emit_two(32, "short name", "a_name_that_is_far_too_long_for_it");
	ck_assert_str_eq(text, "name          count  other\n"
			       "short name        0  a_nam..or_it\n"
			       "a_nam..or_it      1  short name\n");
	free(text);
}
END_TEST

START_TEST(cut_names_stay_different)
{
	char *text = emit_two(70, "std::map<string, alpha::value_of_it>::insert_or_assign_at_hint",
			      "std::map<string, bravo::value_of_it>::insert_or_assign_at_hint");
	ck_assert_ptr_nonnull(strstr(text, "alpha"));
	ck_assert_ptr_nonnull(strstr(text, "bravo"));
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
		ck_assert_uint_le((size_t)(end - line), 70);
	free(text);
}
END_TEST

SUITE()
{
	EACH(columns_yield_before_names_get_short, narrow);
	TEST(the_widest_column_gives_way_first);
	TEST(cut_names_stay_different);
}
