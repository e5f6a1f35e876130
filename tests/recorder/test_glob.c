/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a pattern of threads, ops or locks means others than it says. */
#include "glob.h"

#include "suite.h"

static const struct {
	const char *glob, *name;
	bool matches;
} rows[] = {
	/*  0 */ { "", "", true },
	/*  1 */ { "a", "a", true },
	/*  2 */ { "a", "ab", false },
	/*  3 */ { "ab", "a", false },
	/*  4 */ { "*", "", true },
	/*  5 */ { "io-*", "io-7", true },
	/*  6 */ { "io-*", "bio-7", false },
	/*  7 */ { "*-7", "io-7-7", true },
	/*  8 */ { "*a*b*", "xxaxxbxx", true },
	/*  9 */ { "*a*b*", "xxbxxaxx", false },
	/* 10 */ { "w?rk", "work", true },
	/* 11 */ { "w?rk", "wrk", false },
	/* 12 */ { "io[0-3]", "io2", true },
	/* 13 */ { "io[0-3]", "io4", false },
	/* 14 */ { "io[!0-3]", "io4", true },
	/* 15 */ { "io[!0-3]", "io", false },
	/* 16 */ { "[]a]", "]", true },
	/* 17 */ { "[a-]", "-", true },
	/* 18 */ { "[a", "[a", true },
	/* 19 */ { "\\*", "*", true },
	/* 20 */ { "\\*", "x", false },
	/* 21 */ { "a\\", "a\\", true },
	/* 22 */ { "****b", "aaaaaaaaaaaaaab", true },
	/* 23 */ { "*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaa", false },
};

START_TEST(patterns)
{
	ck_assert_int_eq(glob_matches(rows[_i].glob, rows[_i].name), rows[_i].matches);
}
END_TEST

SUITE()
{
	EACH(patterns, rows);
}
