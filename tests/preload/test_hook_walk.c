/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a walk through a tree tells of other files. Or the program's own calls,
 * when it is told, count as the walk's.
 */
#include "target.h"
#include "suite.h"

static const struct target_case walks = {
	"walks", "all", { { "op", "sleep", "usleep", 35, 35 }, { "op", "io", "write", 10, 10 } }
};

static bool is_op(json_t *event, const char *kind)
{
	return strcmp(word_of(event, "e"), "op") == 0 && strcmp(word_of(event, "k"), kind) == 0;
}

/* No op of input or output has a child: the walks' ops end before the program is told. */
START_TEST(test_what_is_told_is_not_in_the_walk)
{
	struct dumps dumps;
	run_case(&walks, &dumps);
	json_t *lines = dumps.lines[0];
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_int_t parent =
			json_integer_value(json_object_get(json_array_get(lines, i), "p"));
		for (size_t j = 1; parent && j < json_array_size(lines); j++) {
			json_t *other = json_array_get(lines, j);
			ck_assert(!is_op(other, "io") ||
				  json_integer_value(json_object_get(other, "id")) != parent);
		}
	}
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	TEST(test_what_is_told_is_not_in_the_walk);
}
