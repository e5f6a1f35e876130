/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a terminal would break sentences within words, or not at all.
 */
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "suite.h"

static const struct {
	size_t width;
	const char *words;
	const char *line, *labelled;
} rows[] = {
	/* 0 */ { 80, "as it is", "as it is\n", "Label                as it is\n" },
	/* 1 */
	{ 25, "one two three four five six", "one two three four five\n  six\n",
	  "Label                one\n  two three four five six\n" },
	/* 2 */
	{ 42, "one two three four five six", "one two three four five six\n",
	  "Label                one two three four\n                     five six\n" },
	/* 3: no room for anything */
	{ 1, "one two three four five six", "one two three four\n  five six\n", NULL },
	/* 4: a word longer than a line */
	{ 24, "ab 0123456789012345678901234567890123456789 b",
	  "ab\n  0123456789..0123456789\n  b\n", NULL },
	/* 5: an end is not known */ { 0, "one  two", "one  two\n", NULL },
	/* 6 */ { 22, "", "\n", NULL },
	/* 7 */ { 80, "a\tb \xff", "a\\x09b \xEF\xBF\xBD\n", NULL },
};

START_TEST(sentences_end_with_the_line)
{
	struct emit emit;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_TEXT, rows[_i].width, false);
	emit_line(&emit, "%s", rows[_i].words);
	fflush(file);
	ck_assert_str_eq(text, rows[_i].line);
	size_t once = length;
	emit_strong_line(&emit, "%s", rows[_i].words);
	fflush(file);
	ck_assert_str_eq(text + once, rows[_i].line);
	if (rows[_i].labelled) {
		emit_labelled(&emit, "Label", "%s", rows[_i].words);
		fflush(file);
		ck_assert_str_eq(text + 2 * once, rows[_i].labelled);
	}
	emit_end(&emit);
	fclose(file);
	free(text);
}
END_TEST

START_TEST(headings_end_with_the_line)
{
	struct emit emit;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_TEXT, 24, true);
	emit_heading(&emit, "What would a fix buy, then?");
	emit_end(&emit);
	fclose(file);
	ck_assert_str_eq(text, "\n\033[1mWhat would a fix buy,\n  then?\033[0m\n");
	free(text);
}
END_TEST

START_TEST(json_has_no_sentences)
{
	struct emit emit;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_JSON, 80, true);
	emit_heading(&emit, "a");
	emit_line(&emit, "b");
	emit_labelled(&emit, "c", "d");
	emit_strong_line(&emit, "e");
	emit_end(&emit);
	fclose(file);
	ck_assert_str_eq(text, "{\n}\n");
	free(text);
}
END_TEST

SUITE()
{
	EACH(sentences_end_with_the_line, rows);
	TEST(headings_end_with_the_line);
	TEST(json_has_no_sentences);
}
