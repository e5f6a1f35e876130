/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, columns of the page would be no JSON, or have other numbers. */
#include "base/numbers.h"
#include "suite.h"

START_TEST(numbers_are_a_list_between_other_members)
{
	struct emit emit;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_JSON, 0, false);
	emit_count(&emit, "one", NULL, 1);
	numbers_begin(&emit, "none");
	numbers_end(&emit);
	numbers_begin(&emit, "all");
	numbers_put(&emit, 0);
	numbers_put(&emit, INT64_MAX);
	numbers_put(&emit, INT64_MIN);
	numbers_put_index(&emit, NO_INDEX);
	numbers_put_index(&emit, 7);
	numbers_end(&emit);
	emit_count(&emit, "two", NULL, 2);
	emit_end(&emit);
	fclose(file);
	ck_assert_str_eq(
		text,
		"{\n \"one\": 1,\n \"none\": [],\n"
		" \"all\": [0,9223372036854775807,-9223372036854775808,-1,7],\n \"two\": 2\n}\n");
	free(text);
}
END_TEST

SUITE()
{
	TEST(numbers_are_a_list_between_other_members);
}
