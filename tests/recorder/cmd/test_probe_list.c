/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a list offers what cannot be probed, or hides what can. */
#include "probe_list.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

struct listed {
	int number;
};

long probe_list_listed(struct listed *first, double second, int third);
__attribute__((noinline)) long probe_list_listed(struct listed *first, double second, int third)
{
	long sum = first->number + third;

	return sum + (long)second; /* LAST */
}

static char error[PROBE_ERROR_BYTES];
static char *text;

enum list { FUNCTIONS, MARKS, VARIABLES, LINES };

static int list(enum list which, const char *argument)
{
	struct probe_target *target = probe_target_open(getpid(), error);
	char *listed = NULL;
	size_t size;
	FILE *to = open_memstream(&listed, &size);
	int result = 0;

	ck_assert(target && to);
	free(text);
	switch (which) {
	case FUNCTIONS:
		result = probe_list_functions(target, argument, to, error);
		break;
	case MARKS:
		result = probe_list_marks(target, to, error);
		break;
	case VARIABLES:
		result = probe_list_variables(target, argument, to, error);
		break;
	case LINES:
		result = probe_list_lines(target, argument, to, error);
		break;
	}
	fclose(to);
	text = listed;
	probe_target_close(target);
	return result;
}

START_TEST(lists_have_what_is_there)
{
	static const struct {
		enum list which;
		const char *argument;
		const char *expected; /* a part of it */
	} rows[] = {
		/*  0 */ { FUNCTIONS, NULL, "probe_list_listed\t/" },
		/*  1 */ { FUNCTIONS, "probe_list_l*", "probe_list_listed\t/" },
		/*  2 */ { FUNCTIONS, "libc:mallo?", "malloc\t/" },
		/*  3 */ { VARIABLES, "probe_list_listed", "  first\tstruct listed *\n" },
		/*  4 */ { VARIABLES, "probe_list_listed", "  second\tdouble\n" },
		/*  5 */ { VARIABLES, "probe_list_listed", "  third\tint\n" },
		/*  6 */
		{ LINES, "probe_list_listed", "  	return sum + (long)second; /* LAST */" },
	};

	ck_assert_int_eq(probe_list_listed(&(struct listed){ 1 }, 2.0, 3), 6);
	ck_assert_msg(list(rows[_i].which, rows[_i].argument) == 0, "%s", error);
	ck_assert_msg(strstr(text, rows[_i].expected), "%s", text);
}

START_TEST(patterns_bound_a_list)
{
	ck_assert_int_eq(list(FUNCTIONS, "probe_list_listed"), 0);
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
	ck_assert_int_eq(list(FUNCTIONS, "no_such_*"), -ENOENT);
	ck_assert_msg(strstr(error, "no_such_*"), "%s", error);
	ck_assert_int_eq(list(VARIABLES, "no_such_function"), -ENOENT);
	ck_assert_int_eq(list(LINES, "no_such_function"), -ENOENT);
}

SUITE()
{
	LOOP(lists_have_what_is_there, 0, 7);
	TEST(patterns_bound_a_list);
}
