/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, two functions would have the same name in a report.
 */
#include "base/shorten.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "random.h"
#include "suite.h"

enum { NAMES_MOST = 6, RANDOM_NAMES = 40, RANDOM_BYTES = 120 };

static const struct {
	size_t columns;
	const char *names[NAMES_MOST], *expected[NAMES_MOST];
} rows[] = {
	/* 0: what fits stays */
	{ 8, { "short", "shorter" }, { "short", "shorter" } },
	/* 1 */
	{ 10, { "abcdefghijklmnop", "same" }, { "abcd..mnop", "same" } },
	/* 2: the same name twice */
	{ 10, { "abcdefghijklmnop", "abcdefghijklmnop" }, { "abcd..mnop", "abcd..mnop" } },
	/* 3: a difference in the middle */
	{ 20,
	  { "begin_begin_begin_one_end_end_end_end", "begin_begin_begin_two_end_end_end_end" },
	  { "begi..n_one_en.._end", "begi..n_two_en.._end" } },
	/* 4: the rest is not longer than what there is room for */
	{ 20,
	  { "begin_begin_abc1_end_here", "begin_begin_abc2_end_here" },
	  { "begi.._abc1_end_here", "begi.._abc2_end_here" } },
	/* 5: three, two of which differ later */
	{ 20,
	  { "begin_begin_begin_1_middle_x_end_end_end_end_end",
	    "begin_begin_begin_1_middle_y_end_end_end_end_end",
	    "begin_begin_begin_2_middle_x_end_end_end_end_end" },
	  { "begi..e_x_end_.._end", "begi..e_y_end_.._end", "begi..n_2_midd.._end" } },
	/* 6: characters of several bytes */
	{ 20,
	  { "begin_begin_begin_\xC3\xA4_end_end_end_end_end",
	    "begin_begin_begin_\xC3\xB6_end_end_end_end_end" },
	  { "begi..n_\xC3\xA4_end_.._end", "begi..n_\xC3\xB6_end_.._end" } },
	/* 7: no room for anything */
	{ 3, { "abcdefgh", "abcxefgh" }, { "a..", "a.." } },
};

START_TEST(names_are_cut)
{
	char *names[NAMES_MOST];
	size_t count = 0;
	setlocale(LC_CTYPE, "C.UTF-8");
	for (; count < NAMES_MOST && rows[_i].names[count]; count++)
		names[count] = strdup(rows[_i].names[count]);
	shorten_all(names, count, rows[_i].columns);
	for (size_t i = 0; i < count; i++) {
		ck_assert_str_eq(names[i], rows[_i].expected[i]);
		free(names[i]);
	}
}
END_TEST

/* Long names that differ in a few characters. */
START_TEST(random_names_stay_different)
{
	char *names[RANDOM_NAMES], *whole[RANDOM_NAMES];
	uint64_t state = (uint64_t)_i;
	for (size_t i = 0; i < RANDOM_NAMES; i++) {
		names[i] = calloc(RANDOM_BYTES + 1, 1);
		for (size_t k = 0; k < RANDOM_BYTES; k++)
			names[i][k] = (char)('a' + (k * 7 + k / 9) % 26);
		for (int changes = 0; changes < 3; changes++)
			names[i][random_number(&state, RANDOM_BYTES)] =
				(char)('A' + random_number(&state, 26));
		whole[i] = strdup(names[i]);
	}
	size_t columns = 16 + random_number(&state, 40);
	shorten_all(names, RANDOM_NAMES, columns);
	for (size_t i = 0; i < RANDOM_NAMES; i++) {
		ck_assert_uint_le(utf8_columns(names[i]), columns);
		for (size_t k = 0; k < i; k++)
			ck_assert_msg(strcmp(names[i], names[k]) != 0 ||
					      !strcmp(whole[i], whole[k]),
				      "%s is %s and %s", names[i], whole[i], whole[k]);
	}
	for (size_t i = 0; i < RANDOM_NAMES; i++) {
		free(names[i]);
		free(whole[i]);
	}
}
END_TEST

SUITE()
{
	EACH(names_are_cut, rows);
	LOOP(random_names_stay_different, 0, 200);
}
