/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a bar would be longer than its column, or show another figure than the one beside
 * it.
 */
#include "base/bar.h"

#include <locale.h>
#include <math.h>

#include "base/utf8.h"
#include "suite.h"

static const struct {
	double least, most;
	const char *plain, *blocks;
} rows[] = {
	/* 0 */ { 0, 0, "", "" },
	/* 1 */ { 1, 1, "############", "████████████" },
	/* 2 */ { 0.5, 0.5, "######", "██████" },
	/* 3 */ { 0.25, 0.5, "###---", "███░░░" },
	/* 4: less than a column */ { 0.0625, 0.0625, "#", "▊" },
	/* 5 */ { 0.01, 0.01, "", "▏" },
	/* 6: out of bounds */ { -1, 2, "------------", "░░░░░░░░░░░░" },
	/* 7 */ { 3, 1, "############", "████████████" },
	/* 8 */ { 0.5, 0.1, "######", "██████" },
	/* 9 */ { NAN, NAN, "", "" },
};

START_TEST(bars_are_plain_or_of_blocks)
{
	char bar[BAR_BYTES];
	bar_draw(bar, rows[_i].least, rows[_i].most);
	ck_assert_str_eq(bar, rows[_i].plain);
	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
	bar_draw(bar, rows[_i].least, rows[_i].most);
	ck_assert_str_eq(bar, rows[_i].blocks);
	ck_assert_uint_le(utf8_columns(bar), BAR_COLUMNS);
}
END_TEST

SUITE()
{
	EACH(bars_are_plain_or_of_blocks, rows);
}
