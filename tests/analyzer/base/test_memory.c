/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, arrays of the analyzer would overlap or forget what was in them.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suite.h"

START_TEST(new_memory_is_zero_and_never_null)
{
	uint64_t *values = memory_new(1000, sizeof(*values));
	for (size_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(values[i], 0);
	free(values);
	void *nothing = memory_new(0, 8);
	ck_assert_ptr_nonnull(nothing);
	free(nothing);
}
END_TEST

START_TEST(growing_keeps_what_was_there)
{
	uint32_t *values = NULL;
	size_t room = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		values = memory_grow(values, &room, (size_t)i + 1, sizeof(*values));
		values[i] = i;
	}
	ck_assert_uint_ge(room, 100000);
	for (uint32_t i = 0; i < 100000; i += 777)
		ck_assert_uint_eq(values[i], i);
	ck_assert_ptr_eq(memory_grow(values, &room, 5, sizeof(*values)), values);
	free(values);
}
END_TEST

/* A size that does not fit in memory must not wrap around to a small one. */
START_TEST(too_much_ends_the_command_with_status_2)
{
	size_t room = 0;
	free(memory_grow(NULL, &room, SIZE_MAX / 4, 16));
}
END_TEST

SUITE()
{
	TEST(new_memory_is_zero_and_never_null);
	TEST(growing_keeps_what_was_there);
	EXITS(too_much_ends_the_command_with_status_2, 2);
}
