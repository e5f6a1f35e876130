/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thing is not found by its number, or is found by another's. */
#include "base/buckets.h"

#include "recording/recording.h"
#include "suite.h"

static uint32_t number_of(const void *context, size_t item)
{
	return ((const uint32_t *)context)[item];
}

START_TEST(each_is_where_it_belongs)
{
	static const uint32_t numbers[] = { 2, 0, NO_INDEX, 2, 0, 2 };
	static const uint32_t of_0[] = { 1, 4 }, of_2[] = { 0, 3, 5 };
	struct buckets buckets;
	size_t count;

	buckets_build(&buckets, 3, 6, number_of, numbers);
	ck_assert_mem_eq(buckets_of(&buckets, 0, &count), of_0, sizeof(of_0));
	ck_assert_uint_eq(count, 2);
	buckets_of(&buckets, 1, &count);
	ck_assert_uint_eq(count, 0);
	ck_assert_mem_eq(buckets_of(&buckets, 2, &count), of_2, sizeof(of_2));
	ck_assert_uint_eq(count, 3);
	buckets_free(&buckets);
	buckets_build(&buckets, 0, 0, number_of, numbers);
	buckets_free(&buckets);
}
END_TEST

SUITE()
{
	TEST(each_is_where_it_belongs);
}
