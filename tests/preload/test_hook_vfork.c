/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a vfork child spoils its parent's stack or recording, or is missed.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "children",
		  "vforks",
		  { { "op", "exec", "vfork", 21, 21 },
		    { "wait", "exec", "waitpid", 21, 21 },
		    { "op", "process", "children", 1, 1 },
		    { "op", "process", "true", 1, 1 } } },
	/* 1 */ { "children", "nested_vforks", { { "op", "exec", "vfork", 6, 6 } } },
};

/* A CPU clock that is not the thread's would be behind it. */
static void check_cpu_time(const json_t *lines)
{
	json_int_t last_ns = 0, used_ns = 0;

	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);

		if (strcmp(word_of(event, "e"), "sample") != 0)
			continue;
		ck_assert_int_ge(number_of(event, "s"), last_ns);
		ck_assert_int_ge(number_of(event, "cpu"), used_ns);
		last_ns = number_of(event, "s");
		used_ns = number_of(event, "cpu");
	}
}

START_TEST(test_case)
{
	struct dumps dumps;

	run_case(&cases[_i], &dumps);
	for (int i = 0; i < dumps.count; i++)
		check_cpu_time(dumps.lines[i]);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(test_case, cases);
}
