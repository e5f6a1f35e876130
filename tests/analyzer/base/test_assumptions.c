/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, an assumption that was left out would still be made, or another one would not be.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "suite.h"

static const struct {
	const char *name, *unit, *why, *needed_by;
	double value, without;
} rows[] = {
#define ASSUME(name, value, without, unit, why, rows) \
	{ #name, #unit, why, rows, (double)(value), (double)(without) },
#include "base/assumptions.def"
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void values_get(double values[ROWS])
{
	size_t i = 0;
#define ASSUME(name, value, without, unit, why, rows) values[i++] = (double)assume.name;
#include "base/assumptions.def"
}

START_TEST(values_are_those_of_the_table)
{
	double values[ROWS];
	values_get(values);
	for (size_t i = 0; i < ROWS; i++)
		ck_assert_msg(values[i] == rows[i].value, "%s", rows[i].name);
}
END_TEST

START_TEST(one_is_set_aside_and_no_other)
{
	double values[ROWS];
	char names[1000];
	ck_assert(assumptions_set_aside(rows[_i].name));
	values_get(values);
	for (int i = 0; i < ROWS; i++)
		ck_assert_msg(values[i] == (i == _i ? rows[i].without : rows[i].value), "%s",
			      rows[i].name);
	assumptions_list(names, sizeof(names), true);
	ck_assert_str_eq(names, rows[_i].name);
	assumptions_restore();
	assumptions_list(names, sizeof(names), true);
	ck_assert_str_eq(names, "");
	values_get(values);
	ck_assert(values[_i] == rows[_i].value);
}
END_TEST

START_TEST(each_row_claims_something)
{
	ck_assert_msg(rows[_i].value != rows[_i].without, "%s", rows[_i].name);
	ck_assert_msg(strlen(rows[_i].why) > 20, "%s", rows[_i].name);
	ck_assert_msg(strlen(rows[_i].needed_by) > 3, "%s", rows[_i].name);
	for (int i = 0; i < _i; i++)
		ck_assert_str_ne(rows[i].name, rows[_i].name);
}
END_TEST

START_TEST(unknown_names_are_refused_and_the_known_ones_listed)
{
	char names[1000], few[16];
	ck_assert(!assumptions_set_aside("luck") && !assumptions_set_aside(""));
	assumptions_list(names, sizeof(names), false);
	for (size_t i = 0; i < ROWS; i++)
		ck_assert_msg(strstr(names, rows[i].name) != NULL, "%s", rows[i].name);
	assumptions_list(few, sizeof(few), false);
	ck_assert_uint_eq(strlen(few), sizeof(few) - 1);
}
END_TEST

SUITE()
{
	TEST(values_are_those_of_the_table);
	LOOP(one_is_set_aside_and_no_other, 0, ROWS);
	LOOP(each_row_claims_something, 0, ROWS);
	TEST(unknown_names_are_refused_and_the_known_ones_listed);
}
