/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, a wait for a thread counts beside what the thread did meanwhile, or is lost. */
#include <check.h>

#include "suite.h"
#include "top_stints.h"

enum { STINTS = 3 };

static const struct {
	struct top_stint stints[STINTS];
	struct top_stint wait;
	uint64_t expect_ns;
} rows[] = {
	/* 0: nobody else */ { { { 0, 0, 1 } }, { 10, 20, 2 }, 10 },
	/* 1: one began later, and ended sooner */ { { { 12, 15, 1 } }, { 10, 20, 2 }, 7 },
	/* 2: the thread's own */ { { { 12, 15, 2 } }, { 10, 20, 2 }, 10 },
	/* 3: all of it */ { { { 5, 25, 1 } }, { 10, 20, 2 }, 0 },
	/* 4: two that overlap */ { { { 11, 14, 1 }, { 13, 16, 3 } }, { 10, 20, 2 }, 5 },
	/* 5: two apart, the later one first */
	{ { { 18, 30, 1 }, { 2, 12, 3 } }, { 10, 20, 2 }, 6 },
	/* 6: one in another */ { { { 11, 19, 1 }, { 13, 16, 3 } }, { 10, 20, 2 }, 2 },
	/* 7: a thread comes again */ { { { 11, 12, 1 }, { 15, 16, 1 } }, { 10, 20, 2 }, 5 },
	/* 8: before and after */ { { { 1, 10, 1 }, { 20, 30, 3 } }, { 10, 20, 2 }, 10 },
	/* 9: no time */ { { { 1, 30, 1 } }, { 10, 10, 2 }, 0 },
};

START_TEST(a_wait_counts_outside_of_others_work)
{
	struct top_stints stints = { .count = 0 }, joined = { .count = 0 };

	for (size_t i = 0; i < STINTS; i++)
		if (rows[_i].stints[i].end_ns)
			top_stints_add(&stints, rows[_i].stints[i]);
	ck_assert_uint_eq(top_stints_outside_ns(&stints, rows[_i].wait), rows[_i].expect_ns);
	top_stints_join(&joined, &stints);
	top_stints_join(&joined, &stints);
	ck_assert_uint_eq(joined.count, stints.count);
	ck_assert_uint_eq(top_stints_outside_ns(&joined, rows[_i].wait), rows[_i].expect_ns);
}

START_TEST(threads_beyond_are_one)
{
	struct top_stints stints = { .count = 0 };

	for (uint32_t thread = 1; thread <= 2 * TOP_STINTS_MAX; thread++)
		top_stints_add(&stints, (struct top_stint){ 2 * thread, 2 * thread + 1, thread });
	ck_assert_uint_eq(stints.count, TOP_STINTS_MAX);
	/* 2 to 15 with gaps, 16 to 33 without */
	ck_assert_uint_eq(top_stints_outside_ns(&stints, (struct top_stint){ 0, 40, 99 }), 16);
}

SUITE()
{
	LOOP(a_wait_counts_outside_of_others_work, 0, 10);
	TEST(threads_beyond_are_one);
}
