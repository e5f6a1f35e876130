/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a small file would have the kernel end some process of the machine.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/allowance.h"
#include "base/memory.h"
#include "suite.h"

START_TEST(there_is_some_memory)
{
	uint64_t bytes = allowance_of_now();
	ck_assert_uint_gt(bytes, 1 << 20);
	ck_assert_uint_lt(bytes, UINT64_C(1) << 50);
}
END_TEST

START_TEST(no_more_than_that_can_be_had)
{
	ck_assert_uint_eq(allowance_bytes(), 0);
	allowance_set(0);
	ck_assert_uint_eq(allowance_bytes(), 0);
	allowance_set(200 << 20);
	ck_assert_uint_eq(allowance_bytes(), 200 << 20);
	void *small = malloc(20 << 20), *large = malloc(400 << 20);
	ck_assert_ptr_nonnull(small);
	ck_assert_ptr_null(large);
	free(small);
	/* Nor does a larger one allow more than there was. */
	allowance_set(UINT64_C(1) << 40);
	ck_assert_uint_eq(allowance_bytes(), 200 << 20);
}
END_TEST

/* Too little to go on with. */
START_TEST(what_cannot_be_is_said)
{
	ck_assert(allowance_set(0));
	ck_assert(!allowance_set(4096));
	ck_assert_uint_eq(allowance_bytes(), 0);
	ck_assert(allowance_set(UINT64_MAX));
	ck_assert_uint_eq(allowance_of_megabytes(3), 3000000);
	ck_assert_uint_eq(allowance_of_megabytes(18446744073710), UINT64_MAX);
	ck_assert_uint_eq(allowance_of_megabytes(UINT64_MAX), UINT64_MAX);
}
END_TEST

START_TEST(beyond_it_the_command_ends)
{
	allowance_set(100 << 20);
	(void)memory_new(400 << 20, 1);
}
END_TEST

SUITE()
{
	TEST(there_is_some_memory);
	TEST(what_cannot_be_is_said);
	if (!SANITIZED)
		TEST(no_more_than_that_can_be_had);
	if (!SANITIZED)
		EXITS(beyond_it_the_command_ends, 2);
}
