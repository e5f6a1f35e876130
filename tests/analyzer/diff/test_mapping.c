/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a renamed function would be a new one and a gone one. Or a mistake in a rule
 * would rename nothing without a word.
 */
#include "diff/mapping.h"

#include "suite.h"

#include <string.h>

static const struct {
	const char *rules[2];
	const char *name, *renamed;
} good[] = {
	/*  0 */ { { "s/old/new/" }, "old_flush/old", "new_flush/old" },
	/*  1 */ { { "s/old/new/g" }, "old_flush/old", "new_flush/new" },
	/*  2 */ { { "s,^v1::,," }, "v1::flush", "flush" },
	/*  3 */ { { "s/(.*)_lock/lock_\\1/" }, "table_lock", "lock_table" },
	/*  4 */ { { "s/lock/[&]/" }, "table_lock", "table_[lock]" },
	/*  5 */ { { "s/a/b/", "s/b/c/" }, "a", "c" },
	/*  6 */ { { "s/^x/y/g" }, "xxx", "yxx" },
	/*  7 */ { { "s/\\//./" }, "flush/write", "flush.write" },
	/*  8 */ { { "s/\\./-/" }, "a.b", "a-b" },
	/*  9 */ { { "s/z*/-/g" }, "ab", "-a-b" },
	/* 10 */ { { "s/nowhere/x/" }, "flush", "flush" },
	/* 11 */ { { "s/$/!/" }, "end", "end!" },
	/* 12 */ { { "s/(a)|(b)/<\\2>/" }, "a", "<>" },
};

START_TEST(names_become_those_of_the_rules)
{
	struct text_list list = { { good[_i].rules[0], good[_i].rules[1] },
				  good[_i].rules[1] ? 2 : 1 };
	char error[OPTIONS_ERROR_BYTES];
	struct mapping mapping;
	ck_assert_int_eq(mapping_parse(&mapping, &list, error), 0);
	char *renamed = mapping_apply(&mapping, good[_i].name);
	ck_assert_str_eq(renamed, good[_i].renamed);
	free(renamed);
	mapping_free(&mapping);
}
END_TEST

static const struct {
	const char *rule, *said;
} bad[] = {
	/* 0 */ { "old=new", "does not begin with s/" },
	/* 1 */ { "s", "does not begin with s/" },
	/* 2 */ { "s/old", "does not end with /" },
	/* 3 */ { "s/old/new", "does not end with /" },
	/* 4 */ { "s/old/new/x", "does not end with /" },
	/* 5 */ { "s/(/new/", "(Unmatched ( or \\()" },
	/* 6 */ { "s//new/", "is empty" },
};

START_TEST(what_is_no_rule_is_refused)
{
	struct text_list list = { { "s/a/b/", bad[_i].rule }, 2 };
	char error[OPTIONS_ERROR_BYTES];
	struct mapping mapping;
	ck_assert_int_lt(mapping_parse(&mapping, &list, error), 0);
	ck_assert_ptr_nonnull(strstr(error, bad[_i].rule));
	ck_assert_msg(strstr(error, bad[_i].said) != NULL, "%s", error);
}
END_TEST

SUITE()
{
	EACH(names_become_those_of_the_rules, good);
	EACH(what_is_no_rule_is_refused, bad);
}
