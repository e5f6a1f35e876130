/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, names of symbols overwrite each other. */
#include <stdint.h>
#include <string.h>

#include "base/blocks.h"
#include "suite.h"

static size_t count_other(const unsigned char *bytes, size_t count, unsigned char value)
{
	size_t other = 0;

	for (size_t i = 0; i < count; i++)
		other += bytes[i] != value;
	return other;
}

START_TEST(pieces_do_not_overlap)
{
	enum { PIECES = 3000 };
	unsigned char *pieces[PIECES];
	struct blocks blocks = { 0 };

	for (size_t i = 0; i < PIECES; i++) {
		pieces[i] = blocks_alloc(&blocks, i);
		ck_assert_uint_eq((uintptr_t)pieces[i] % 16, 0);
		ck_assert_uint_eq(count_other(pieces[i], i, 0), 0);
		memset(pieces[i], (int)(i % 255) + 1, i);
	}
	for (size_t i = 0; i < PIECES; i++)
		ck_assert_uint_eq(count_other(pieces[i], i, (unsigned char)(i % 255 + 1)), 0);
	blocks_free(&blocks);
	ck_assert_ptr_null(blocks.newest);
}
END_TEST

START_TEST(larger_than_a_block)
{
	struct blocks blocks = { 0 };
	char *text = blocks_text(&blocks, "abcdef", 3), *large = blocks_alloc(&blocks, 1 << 20);

	memset(large, 'x', 1 << 20);
	ck_assert_str_eq(text, "abc");
	blocks_free(&blocks);
}
END_TEST

SUITE()
{
	TEST(pieces_do_not_overlap);
	TEST(larger_than_a_block);
}
