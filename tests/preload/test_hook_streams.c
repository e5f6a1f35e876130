/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: what a stream reads or writes is missed, or is an op without having moved
 * anything. Or a form of a call gets other arguments than it was given.
 */
#include "target.h"
#include "suite.h"

static const struct target_case cases[] = {
	/* 0 */ { "streams",
		  "bytes",
		  { { "op", "io", "getc", 4, 4 }, { "op", "io", "putc", 2, 3 } } },
	/* 1 */
	{ "streams",
	  "lines",
	  { { "op", "io", "fgets", 8, 8 },
	    { "op", "io", "getdelim", 4, 4 },
	    { "op", "io", "fclose", 1, 1 } } },
	/* 2 */
	{ "streams",
	  "blocks",
	  { { "op", "io", "fread", 4, 5 },
	    { "op", "io", "fwrite", 2, 3 },
	    { "op", "io", "freopen", 1, 1 },
	    { "op", "io", "fflush", 2, 5 } } },
	/* 3 */
	{ "streams",
	  "formats",
	  { { "op", "io", "dprintf", 2, 2 }, { "op", "io", "fscanf", 1, 1 } } },
	/* 4 */ { "streams", "wide", { { "op", "io", "tmpfile", 1, 1 } } },
	/* 5 */ { "streams", "cancelled", { { "op", "io", "fgets", 1, 1 } } },
	/* 6 */
	{ "streams",
	  "locked",
	  { { "op", "io", "fwrite", 1, 2 }, { "wait", "lock", "flockfile", 1, 1 } } },
	/* 7 */
	{ "streams",
	  "children",
	  { { "op", "exec", "popen", 2, 2 },
	    { "wait", "exec", "pclose", 2, 2 },
	    { "op", "process", "sh", 2, 2 } } },
	/* 8 */ { "streams", "forks", { { "op", "io", "dprintf", 2, 2 } } },
};

/* Of all ops of that name, and of those that failed. */
static json_int_t sum_of(const struct dumps *dumps, const char *name, const char *outcome)
{
	json_int_t sum = 0;
	for (int i = 0; i < dumps->count; i++) {
		json_t *header = json_array_get(dumps->lines[i], 0);
		for (size_t j = 1; j < json_array_size(dumps->lines[i]); j++) {
			json_t *event = json_array_get(dumps->lines[i], j);
			if (strcmp(text_of(header, event, "c"), name) == 0 &&
			    strcmp(word_of(event, "o"), outcome) == 0)
				sum += *outcome == 'o'
					       ? json_integer_value(json_object_get(event, "n"))
					       : 1;
		}
	}
	return sum;
}

START_TEST(test_case)
{
	struct dumps dumps;
	run_case(&cases[_i], &dumps);
	free_dumps(&dumps);
}
END_TEST

START_TEST(test_outcomes)
{
	struct dumps dumps;
	run_case(&cases[5], &dumps);
	ck_assert_int_eq(sum_of(&dumps, "fgets", "canceled"), 1);
	free_dumps(&dumps);
	run_case(&cases[2], &dumps);
	ck_assert_int_eq(sum_of(&dumps, "fflush", "error"), 1);
	free_dumps(&dumps);
	run_case(&cases[1], &dumps);
	ck_assert_int_eq(sum_of(&dumps, "getdelim", "ok"), 10000);
	free_dumps(&dumps);
	run_case(&cases[0], &dumps);
	ck_assert_int_eq(sum_of(&dumps, "getc", "ok"), 10000);
	ck_assert_int_eq(sum_of(&dumps, "putc", "ok") + sum_of(&dumps, "fclose", "ok"), 10000);
	free_dumps(&dumps);
	run_case(&cases[7], &dumps);
	ck_assert_int_eq(sum_of(&dumps, "fgets", "ok"), 13);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(test_case, cases);
	TEST(test_outcomes);
}
