/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, arrays of the analyzer would overlap or forget what was in them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

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

START_TEST(new_indexes_are_of_no_element)
{
	uint32_t *indexes = memory_new_indexes(1000);
	for (size_t i = 0; i < 1000; i++)
		ck_assert_uint_eq(indexes[i], NO_INDEX);
	free(indexes);
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

START_TEST(streams_end_up_as_text)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = memory_stream(&text, &bytes);
	for (int i = 0; i < 10000; i++)
		fprintf(file, "%04d", i);
	fclose(file);
	ck_assert_uint_eq(bytes, 40000);
	ck_assert_str_eq(text + bytes - 4, "9999");
	free(text);
}
END_TEST

/* No room is left for a stream's buffer: with a program that goes on, this would be status 11. */
START_TEST(no_room_for_a_stream_ends_the_command_with_status_2)
{
	const struct rlimit nothing = { 0, 0 };
	char *text = NULL;
	size_t bytes = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &nothing), 0);
	for (;;)
		fputc(' ', memory_stream(&text, &bytes));
}
END_TEST

SUITE()
{
	TEST(streams_end_up_as_text);
	if (!SANITIZED)
		EXITS(no_room_for_a_stream_ends_the_command_with_status_2, 2);
	TEST(new_memory_is_zero_and_never_null);
	TEST(new_indexes_are_of_no_element);
	TEST(growing_keeps_what_was_there);
	EXITS(too_much_ends_the_command_with_status_2, 2);
}
