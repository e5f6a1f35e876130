/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if two addresses share a number, or one has two. */
#include "recording/addresses.h"

#include "recording/recording.h"
#include "suite.h"

START_TEST(numbers_are_dense_and_stay)
{
	struct addresses table = { 0 };

	ck_assert_uint_eq(addresses_find(&table, 0, 8), NO_INDEX);
	for (uint32_t i = 0; i < 10000; i++)
		ck_assert_uint_eq(addresses_add(&table, i % 3, 0x7f0000000000 + 64 * (uint64_t)i),
				  i);
	for (uint32_t i = 0; i < 10000; i++) {
		ck_assert_uint_eq(addresses_add(&table, i % 3, 0x7f0000000000 + 64 * (uint64_t)i),
				  i);
		ck_assert_uint_eq(addresses_find(&table, i % 3, 0x7f0000000000 + 64 * (uint64_t)i),
				  i);
		ck_assert_uint_eq(addresses_find(&table, 3, 0x7f0000000000 + 64 * (uint64_t)i),
				  NO_INDEX);
	}
	ck_assert_uint_eq(table.count, 10000);
	addresses_free(&table);
}
END_TEST

SUITE()
{
	TEST(numbers_are_dense_and_stay);
}
