/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, an icicle shows functions at the wrong place, or with another share. */
#include "top_icicle.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

static void add(struct icicle *icicle, const char *stack, double weight)
{
	char copy[256];
	const char *names[16];
	size_t count = 0;

	snprintf(copy, sizeof(copy), "%s", stack);
	for (char *name = strtok(copy, ";"); name; name = strtok(NULL, ";"))
		names[count++] = name;
	icicle_add(icicle, names, count, weight, weight / 2);
}

static void check(struct icicle *icicle, size_t columns, size_t most, const char *const *rows)
{
	size_t count = icicle_draw(icicle, columns, most);

	for (size_t i = 0; i < count && rows[i]; i++)
		ck_assert_str_eq(icicle_row(icicle, i), rows[i]);
	ck_assert(count == 0 || rows[count - 1]);
	ck_assert(!rows[count]);
}

START_TEST(a_function_is_as_wide_as_its_share)
{
	struct icicle *icicle = icicle_begin();

	add(icicle, "main;serve;parse", 3);
	add(icicle, "main;serve;query", 4);
	add(icicle, "main;log", 1);
	add(icicle, "main", 2);
	check(icicle, 40, 10,
	      (const char *const[]){ "|main 100%                              ",
				     "|log|serve 70%                  |",
				     "    |parse 30%  |query 40%      |", NULL });
	ck_assert_double_eq_tol(icicle_total(icicle), 10, 1e-9);
	icicle_end(icicle);
}
END_TEST

START_TEST(functions_that_only_call_are_left_out_where_it_is_too_deep)
{
	struct icicle *icicle = icicle_begin();

	add(icicle, "_start;main;loop;a;a1;a2", 1);
	add(icicle, "_start;main;loop;b", 1);
	check(icicle, 20, 2,
	      (const char *const[]){ "|..loop 100%        ", "|..a2 50% |b 50%    ", NULL });
	icicle_end(icicle);
}
END_TEST

START_TEST(rows_that_have_no_room_are_marked)
{
	struct icicle *icicle = icicle_begin();

	add(icicle, "a;b;c", 1);
	add(icicle, "a;b;d", 1);
	add(icicle, "a;e", 2);
	check(icicle, 20, 2,
	      (const char *const[]){ "|a 100%             ", "|b 50%   +|e 50%    ", NULL });
	icicle_end(icicle);
}
END_TEST

static void both(double weight, double other, char *to, size_t size)
{
	snprintf(to, size, "%.0f/%.0f", weight, other);
}

START_TEST(two_weights_stand_side_by_side)
{
	struct icicle *icicle = icicle_begin();

	icicle_compare(icicle, both);
	add(icicle, "a", 8);
	check(icicle, 12, 2, (const char *const[]){ "|a 8/4      ", NULL });
	icicle_end(icicle);
}
END_TEST

START_TEST(any_size_will_do)
{
	struct icicle *icicle = icicle_begin();

	ck_assert_uint_eq(icicle_draw(icicle, 80, 24), 0);
	for (int i = 0; i < 5000; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "r\u00e9;f%d;g%d;h", i % 97, i);
		add(icicle, stack, 1 + i % 13);
	}
	for (size_t columns = 0; columns < 450; columns += 7)
		for (size_t rows = 0; rows < 6; rows++) {
			size_t count = icicle_draw(icicle, columns, rows);

			ck_assert_uint_le(count, rows);
			for (size_t i = 0; i < count; i++)
				ck_assert_uint_le(strlen(icicle_row(icicle, i)), 2 * columns + 4);
		}
	icicle_end(icicle);
}
END_TEST

SUITE()
{
	TEST(a_function_is_as_wide_as_its_share);
	TEST(functions_that_only_call_are_left_out_where_it_is_too_deep);
	TEST(rows_that_have_no_room_are_marked);
	TEST(two_weights_stand_side_by_side);
	TEST(any_size_will_do);
}
