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

/* Wrong if it takes hours: the addresses of a fork's processes are the same, and lives of one
 * address (infer/lives.h) differ in their highest bits. */
START_TEST(keys_that_differ_in_few_bits_are_found_at_once)
{
	struct addresses table = { 0 };
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < 1u << 18; i++)
		wrong += addresses_add(&table, i, 0x7f0000000000) != i;
	for (uint32_t i = 0; i < 1u << 18; i++)
		wrong += addresses_find(&table, i, 0x7f0000000000) != i;
	ck_assert_uint_eq(wrong, 0);
	addresses_free(&table);
	for (uint64_t i = 0; i < 1u << 15; i++)
		for (uint64_t k = 0; k < 16; k++)
			addresses_add(&table, 0, i << 48 | (0x7f0000000000 + 64 * k));
	ck_assert_uint_eq(table.count, 16u << 15);
	addresses_free(&table);
}
END_TEST

SUITE()
{
	TEST(numbers_are_dense_and_stay);
	TEST(keys_that_differ_in_few_bits_are_found_at_once);
}
