/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, two things would count as one, or one as two. */
#include "base/tuples.h"

#include "suite.h"

START_TEST(equal_tuples_have_one_index_and_others_their_own)
{
	enum { COUNT = 5000 };
	struct tuples tuples;
	tuples_begin(&tuples, 3);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < COUNT; i++) {
			uint32_t words[] = { i % 7, i / 7, UINT32_MAX };
			ck_assert_uint_eq(tuples_add(&tuples, words), i);
		}
	ck_assert_uint_eq(tuples.count, COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		ck_assert_uint_eq(tuples_at(&tuples, i)[0], i % 7);
		ck_assert_uint_eq(tuples_at(&tuples, i)[1], i / 7);
	}
	tuples_free(&tuples);
}
END_TEST

SUITE()
{
	TEST(equal_tuples_have_one_index_and_others_their_own);
}
