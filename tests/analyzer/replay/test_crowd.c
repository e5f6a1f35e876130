/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if actors do not get equal shares of the CPUs. */
#include "replay/crowd.h"
#include "suite.h"

START_TEST(shares_are_equal)
{
	struct crowd_entry heap[4];
	struct crowd crowd = { .heap = heap };

	/* 2 CPUs; three actors of 20, 20 and 40 ns from time 100: 2/3 each until 130, then one
	 * each */
	crowd_reset(&crowd, 2);
	ck_assert_uint_eq(crowd_next_ns(&crowd), UINT64_MAX);
	crowd_enter(&crowd, 100, 0, 20);
	crowd_enter(&crowd, 100, 1, 20);
	crowd_enter(&crowd, 100, 2, 40);
	ck_assert_uint_eq(crowd_next_ns(&crowd), 130);
	ck_assert_uint_eq(crowd_leave(&crowd), 0);
	ck_assert_uint_eq(crowd_next_ns(&crowd), 130);
	ck_assert_uint_eq(crowd_leave(&crowd), 1);
	ck_assert_uint_eq(crowd_next_ns(&crowd), 150);
	ck_assert_uint_eq(crowd_leave(&crowd), 2);
}
END_TEST

START_TEST(a_newcomer_slows_the_others)
{
	struct crowd_entry heap[4];
	struct crowd crowd = { .heap = heap };

	/* 1 CPU; 100 ns alone for 50, then shared with 10 ns: the newcomer is done at 70, the
	 * first at 110 */
	crowd_reset(&crowd, 1);
	crowd_enter(&crowd, 0, 0, 100);
	crowd_enter(&crowd, 50, 1, 10);
	ck_assert_uint_eq(crowd_next_ns(&crowd), 70);
	ck_assert_uint_eq(crowd_leave(&crowd), 1);
	ck_assert_uint_eq(crowd_next_ns(&crowd), 110);
	ck_assert_uint_eq(crowd_leave(&crowd), 0);
}
END_TEST

SUITE()
{
	TEST(shares_are_equal);
	TEST(a_newcomer_slows_the_others);
}
