/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if this fails: a program of Go's is sampled and dies of it, or one of C's is not. */
#include "target.h"

static const struct {
	struct target_case row;
	const char *why; /* NULL: samples are taken */
} rows[] = {
	/* 0 */ { { "golike", "takes_all", { { 0 } } }, "go" },
	/* 1 */ { { "dispositions", "resets", { { 0 } } }, NULL },
};

START_TEST(programs_of_go_are_not_sampled)
{
	struct dumps dumps;
	const char *why;

	setenv("WCPROF_SAMPLE_HZ", "1000", 1);
	run_case(&rows[_i].row, &dumps);
	why = json_string_value(json_object_get(
		json_object_get(json_array_get(dumps.lines[0], 0), "process"), "unsampled_why"));
	if (rows[_i].why)
		ck_assert_str_eq(why, rows[_i].why);
	else
		ck_assert_ptr_null(why);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(programs_of_go_are_not_sampled, rows);
}
