/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a word on the command line is taken for another one, or for none. */
#include "base/choice.h"
#include "suite.h"

static const struct choice choices[] = { { "wait", 3 }, { "waits", -1 }, { "cpu", 0 } };

static const struct {
	const char *word;
	bool is_found;
	int value;
} rows[] = {
	/* 0 */ { "wait", true, 3 },
	/* 1 */ { "waits", true, -1 },
	/* 2 */ { "cpu", true, 0 },
	/* 3 */ { "wai", false, 7 },
	/* 4 */ { "", false, 7 },
	/* 5 */ { "CPU", false, 7 },
};

START_TEST(a_word_is_whole_or_none)
{
	int value = 7;

	ck_assert(choice_find(choices, 3, rows[_i].word, &value) == rows[_i].is_found);
	ck_assert_int_eq(value, rows[_i].value);
	ck_assert(!choice_find(choices, 0, rows[_i].word, &value));
}
END_TEST

SUITE()
{
	EACH(a_word_is_whole_or_none, rows);
}
