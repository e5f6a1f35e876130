/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, names in reports would be cut in the middle of a character, or could steer a
 * terminal.
 */
#include <locale.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "suite.h"

static const struct {
	const char *text;
	uint32_t character;
	size_t length;
} rows[] = {
	/*  0 */ { "a", 'a', 1 },
	/*  1 */ { "\xC3\xA4", 0xE4, 2 },
	/*  2 */ { "\xE2\x82\xAC", 0x20AC, 3 },
	/*  3 */ { "\xF0\x9F\x98\x80", 0x1F600, 4 },
	/*  4: a lone continuation */ { "\x80", UTF8_INVALID, 1 },
	/*  5: cut short */ { "\xE2\x82", UTF8_INVALID, 1 },
	/*  6: too long for what it says */ { "\xC0\xAF", UTF8_INVALID, 1 },
	/*  7: likewise */ { "\xE0\x80\xAF", UTF8_INVALID, 1 },
	/*  8: half of a pair */ { "\xED\xA0\x80", UTF8_INVALID, 1 },
	/*  9: beyond the last */ { "\xF4\x90\x80\x80", UTF8_INVALID, 1 },
	/* 10: no such byte */ { "\xFF", UTF8_INVALID, 1 },
};

START_TEST(characters_are_read_or_refused)
{
	size_t length;
	ck_assert_uint_eq(utf8_next(rows[_i].text, &length), rows[_i].character);
	ck_assert_uint_eq(length, rows[_i].length);
}
END_TEST

static const struct {
	const char *text;
	size_t columns;
	const char *expected;
} cuts[] = {
	/* 0 */ { "short", 5, "short" },
	/* 1 */ { "abcdefghij", 8, "abc..hij" },
	/* 2 */ { "abcdefghij", 7, "abc..ij" },
	/* 3 */ { "abcdefghij", 2, ".." },
	/* 4 */ { "abcdefghij", 1, "." },
	/* 5 */ { "abcdefghij", 0, "" },
	/* 6 */ { "\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4\xC3\xB6\xC3\xBC", 4, "\xC3\xA4..\xC3\xBC" },
};

START_TEST(names_are_cut_in_the_middle)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	char *shown = utf8_shorten(cuts[_i].text, cuts[_i].columns);
	ck_assert_str_eq(shown, cuts[_i].expected);
	ck_assert_uint_le(utf8_columns(shown), cuts[_i].columns);
	free(shown);
	shown = utf8_printable("a\xE2\x80\xAE\xE2\x81\xA9\xD8\x9C\xE2\x80\xAF");
	ck_assert_str_eq(shown, "a\\u202e\\u2069\\u061c\xE2\x80\xAF");
	free(shown);
}
END_TEST

START_TEST(control_characters_are_shown_not_sent)
{
	char *shown = utf8_printable("a\033[1m\n\x7F\xC2\x9B\xFF"
				     "b");
	ck_assert_str_eq(shown, "a\\x1b[1m\\x0a\\x7f\\x9b\xEF\xBF\xBD"
				"b");
	free(shown);
}
END_TEST

SUITE()
{
	EACH(characters_are_read_or_refused, rows);
	EACH(names_are_cut_in_the_middle, cuts);
	TEST(control_characters_are_shown_not_sent);
}
