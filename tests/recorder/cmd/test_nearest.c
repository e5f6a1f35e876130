/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a name that is mistyped is answered with names that nobody meant. */
#include "nearest.h"

#include <string.h>

#include "suite.h"

START_TEST(the_nearest_come_first)
{
	static const char *const names[] = { "parse_queue", "main",         "parse_query",
					     "parse_query", "quarry_parse", "parse_quer",
					     "park_query" };
	struct nearest nearest = { .wanted = "parse_qeury" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_see(&nearest, names[i]);
	ck_assert_uint_eq(nearest.count, 3);
	ck_assert_str_eq(nearest.names[0], "parse_query");
	ck_assert_uint_eq(nearest.distances[0], 1);
	ck_assert_str_eq(nearest.names[1], "parse_quer");
}

START_TEST(names_of_another_kind_are_not_near)
{
	struct nearest nearest = { .wanted = "run" };
	char name[4096];

	nearest_see(&nearest, "start");
	nearest_see(&nearest, "");
	memset(name, 'r', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	nearest_see(&nearest, name);
	ck_assert_uint_eq(nearest.count, 0);
	nearest_see(&nearest, "ran");
	ck_assert_uint_eq(nearest.count, 1);
}

SUITE()
{
	TEST(the_nearest_come_first);
	TEST(names_of_another_kind_are_not_near);
}
