/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, the name of a program tells a terminal what to do, or JSON is none. */
#include "visible.h"

#include <stdarg.h>
#include <string.h>

#include "suite.h"

static const struct {
	const char *text, *shown, *json;
} rows[] = {
	/*  0 */ { "", "", "\"\"" },
	/*  1 */ { "plain name", "plain name", "\"plain name\"" },
	/*  2 */ { "\x1b[31m", "\\x1b[31m", "\"\\u001b[31m\"" },
	/*  3 */ { "a\nb\tc\r", "a\\x0ab\\x09c\\x0d", "\"a\\u000ab\\u0009c\\u000d\"" },
	/*  4 */ { "\x7f", "\\x7f", "\"\\u007f\"" },
	/*  5: CSI in one character */ { "\xc2\x9b", "\\x9b", "\"\\u009b\"" },
	/*  6 */ { "a\"b\\", "a\"b\\", "\"a\\\"b\\\\\"" },
	/*  7 */ { "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\"" },
	/*  8 */ { "\xf0\x9f\x90\xa7", "\xf0\x9f\x90\xa7", "\"\xf0\x9f\x90\xa7\"" },
	/*  9 */ { "\x9b", "\xef\xbf\xbd", "\"\\ufffd\"" },
	/* 10: overlong */ { "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd", "\"\\ufffd\\ufffd\"" },
	/* 11: a surrogate */
	{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "\"\\ufffd\\ufffd\\ufffd\"" },
	/* 12: cut off */ { "\xe2\x80", "\xef\xbf\xbd\xef\xbf\xbd", "\"\\ufffd\\ufffd\"" },
	/* 13 */ { "\xe2\x80\xae", "\\u202e", "\"\\u202e\"" },
	/* 14 */ { "\xe2\x81\xa6\xe2\x81\xa9", "\\u2066\\u2069", "\"\\u2066\\u2069\"" },
	/* 15 */
	{ "\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "\\u200e\\u200f\\u061c",
	  "\"\\u200e\\u200f\\u061c\"" },
	/* 16 */ { "\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029", "\"\\u2028\\u2029\"" },
	/* 17: neighbours */
	{ "\xe2\x80\xa7\xe2\x80\xaf", "\xe2\x80\xa7\xe2\x80\xaf", "\"\xe2\x80\xa7\xe2\x80\xaf\"" },
};

START_TEST(names_are_shown)
{
	ck_assert_str_eq(visible(rows[_i].text), rows[_i].shown);
	ck_assert_str_eq(visible_json(rows[_i].text), rows[_i].json);
}
END_TEST

START_TEST(eight_at_a_time)
{
	char name[2] = "a";
	const char *texts[8];

	for (int i = 0; i < 8; i++, name[0]++)
		texts[i] = visible(name);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(texts[i][0], 'a' + i);
}
END_TEST

START_TEST(long_ones_are_cut_off)
{
	static char text[65536];

	memset(text, 27, sizeof(text) - 1);
	ck_assert_uint_lt(strlen(visible(text)), 8192);
	ck_assert_uint_gt(strlen(visible(text)), 8000);
	ck_assert_int_eq(visible_json(text)[strlen(visible_json(text)) - 1], '"');
}
END_TEST

static char *printed(const char *format, ...)
{
	static char buffer[65536];
	FILE *stream = fmemopen(buffer, sizeof(buffer), "w");
	va_list arguments;

	va_start(arguments, format);
	visible_vputs(stream, format, arguments);
	va_end(arguments);
	fclose(stream);
	return buffer;
}

START_TEST(a_message_is_one_line)
{
	ck_assert_str_eq(printed("%s: %d", "a\nwcprof: b\x1b", 5), "a\\x0awcprof: b\\x1b: 5\n");
}
END_TEST

static const struct {
	const char *text;
	size_t columns;
	const char *fit; /* in 5 columns */
} widths[] = {
	/* 0 */ { "", 0, "     " },
	/* 1 */ { "abc", 3, "abc  " },
	/* 2 */ { "abcdefg", 7, "abcde" },
	/* 3: two columns each */ { "\xe4\xb8\xad\xe6\x96\x87", 4, "\xe4\xb8\xad\xe6\x96\x87 " },
	/* 4: the last one does not fit */
	{ "a\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad", 7, "a\xe4\xb8\xad\xe6\x96\x87" },
	/* 5 */ { "ab\xe4\xb8\xad\xe6\x96\x87", 6, "ab\xe4\xb8\xad " },
	/* 6: an accent of no width stays with its letter */
	{ "abcde\xcc\x81"
	  "f",
	  6, "abcde\xcc\x81" },
	/* 7 */ { "gr\xc3\xbc\xc3\x9f", 4, "gr\xc3\xbc\xc3\x9f " },
	/* 8: no UTF-8 */ { "a\xff\xe4\xb8", 4, "a\xff\xe4\xb8 " },
	/* 9 */ { "\xf0\x9f\x90\xa7", 2, "\xf0\x9f\x90\xa7   " },
};

START_TEST(texts_have_the_columns_of_a_terminal)
{
	char cell[64];

	ck_assert_uint_eq(visible_columns(widths[_i].text), widths[_i].columns);
	ck_assert_str_eq(visible_fit(widths[_i].text, 5, cell, sizeof(cell)), widths[_i].fit);
	ck_assert_uint_eq(visible_columns(cell), 5);
}
END_TEST

START_TEST(a_cell_is_full_also_where_its_memory_is_small)
{
	char cell[7];

	ck_assert_str_eq(visible_fit("\xe4\xb8\xad\xe6\x96\x87", 5, cell, sizeof(cell)),
			 "\xe4\xb8\xad   ");
	ck_assert_str_eq(visible_fit("e\xcc\x81\xcc\x81\xcc\x81", 5, cell, sizeof(cell)), "e    ");
}
END_TEST

SUITE()
{
	EACH(names_are_shown, rows);
	TEST(eight_at_a_time);
	TEST(long_ones_are_cut_off);
	TEST(a_message_is_one_line);
	EACH(texts_have_the_columns_of_a_terminal, widths);
	TEST(a_cell_is_full_also_where_its_memory_is_small);
}
