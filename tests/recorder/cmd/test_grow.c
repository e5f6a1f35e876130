/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a list of the command would be written past its end, or lose what is in it.
 */
#include "grow.h"

#include <stdint.h>
#include <stdlib.h>

#include "suite.h"

enum { NUMBERS = 1000, MOVES_MOST = 10 };

START_TEST(what_is_filled_in_stays)
{
	uint32_t *numbers = NULL;
	size_t room = 0;
	int changes = 0;

	for (uint32_t i = 0; i < NUMBERS; i++) {
		size_t before = room;

		numbers = grow_for_one(numbers, &room, i, sizeof(*numbers));
		ck_assert_ptr_nonnull(numbers);
		ck_assert_uint_gt(room, i);
		changes += room != before;
		numbers[i] = i;
	}
	for (uint32_t i = 0; i < NUMBERS; i++)
		ck_assert_uint_eq(numbers[i], i);
	ck_assert_int_le(changes, MOVES_MOST);
	free(numbers);
}
END_TEST

START_TEST(without_memory_the_array_is_as_it_was)
{
	size_t room = 0, too_large = SIZE_MAX / 2;
	char *bytes = grow_for_one(NULL, &room, 0, 1);

	ck_assert_ptr_nonnull(bytes);
	*bytes = 'x';
	ck_assert_ptr_null(grow_for_one(bytes, &too_large, too_large, 16));
	ck_assert_uint_eq(too_large, SIZE_MAX / 2);
	ck_assert_int_eq(*bytes, 'x');
	free(bytes);
}
END_TEST

SUITE()
{
	TEST(what_is_filled_in_stays);
	TEST(without_memory_the_array_is_as_it_was);
}
