/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, an analysis would be of another part of the run than was asked for. Or a mistake
 * in a pattern would not be said.
 */
#include "report/opened.h"

#include "sketch.h"
#include "suite.h"

static struct sketch sketch;

static struct options options_of(const char *class_by, const char *client)
{
	return (struct options){ .class_by = class_by,
				 .client = client,
				 .thread_glob = "",
				 .folded = "",
				 .export = "",
				 .html = "",
				 .to_ns = UINT64_MAX };
}

static void begin(void)
{
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_SLEEP, 3, 0, 100);
	sketch_bare_op(&sketch, NO_INDEX, KIND_SLEEP, 4, 100, 300);
	sketch.rec.ops[1].client = 5;
}

START_TEST(a_part_is_kept)
{
	char error[OPTIONS_ERROR_BYTES];
	struct options options = options_of("function", "n5");
	begin();
	ck_assert_int_eq(opened_select(&sketch.rec, &options, error), 0);
	ck_assert_uint_eq(sketch.rec.op_count, 1);
	ck_assert_uint_eq(sketch.rec.ops[0].name, 4);
	options = options_of("function", "nobody");
	ck_assert_int_lt(opened_select(&sketch.rec, &options, error), 0);
	ck_assert_ptr_nonnull(strstr(error, "leave no op"));
	sketch_free(&sketch);
}
END_TEST

START_TEST(patterns_that_are_none_are_named)
{
	char error[OPTIONS_ERROR_BYTES];
	struct labels labels;
	struct options options = options_of("colour", "");
	begin();
	ck_assert_int_lt(opened_name(&labels, &sketch.rec, &options, error), 0);
	ck_assert_ptr_nonnull(strstr(error, "--class-by: \"colour\""));
	options = options_of("function", "");
	options.skips = (struct text_list){ { "fine", "(" }, 2 };
	ck_assert_int_lt(opened_name(&labels, &sketch.rec, &options, error), 0);
	ck_assert_ptr_nonnull(strstr(error, "--skip: \"(\" is no regular expression"));
	options.skips.count = 1;
	ck_assert_int_eq(opened_name(&labels, &sketch.rec, &options, error), 0);
	labels_free(&labels);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_part_is_kept);
	TEST(patterns_that_are_none_are_named);
}
