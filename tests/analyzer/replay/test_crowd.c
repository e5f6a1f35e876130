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

/* One crowd is asked to run each newcomer at once, the other lets it enter and leave. */
START_TEST(a_run_at_once_is_as_entering_and_leaving)
{
	struct crowd_entry heaps[2][4];
	struct crowd quick = { .heap = heaps[0] }, plain = { .heap = heaps[1] };
	/* 2.5 CPUs */
	const struct {
		uint64_t from_ns, run_ns, until_ns, end_ns; /* 0 = it does not run at once */
	} rows[] = {
		/* 0 */ { 10, 7, 100, 17 },    { 17, 0, 100, 17 },   { 20, 81, 100, 0 },
		/* 3 */ { 101, 9, 109, 0 },    { 110, 5, 115, 115 }, { 120, 30, 1000, 150 },
		/* 6 */ { 150, 100, 1000, 0 },
	};
	/* the ninth actor is in from the start, until 203 */
	crowd_reset(&quick, 2.5);
	crowd_reset(&plain, 2.5);
	crowd_enter(&quick, 3, 9, 200);
	crowd_enter(&plain, 3, 9, 200);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t now_ns = rows[i].from_ns;
		bool has_run = crowd_run(&quick, &now_ns, rows[i].run_ns, rows[i].until_ns);

		ck_assert_msg(has_run == (rows[i].end_ns > 0), "row %u", i);
		ck_assert_uint_eq(now_ns, has_run ? rows[i].end_ns : rows[i].from_ns);
		crowd_enter(&plain, rows[i].from_ns, i, rows[i].run_ns);
		if (!has_run)
			crowd_enter(&quick, rows[i].from_ns, i, rows[i].run_ns);
		for (uint64_t until_ns = rows[i].from_ns + rows[i].run_ns;
		     crowd_next_ns(&plain) <= until_ns;) {
			uint32_t actor = crowd_leave(&plain);

			if (!has_run)
				ck_assert_uint_eq(crowd_leave(&quick), actor);
			else
				ck_assert_uint_eq(actor, i);
		}
		ck_assert_uint_eq(crowd_next_ns(&quick), crowd_next_ns(&plain));
		ck_assert(quick.virtual_ns == plain.virtual_ns);
	}
}
END_TEST

SUITE()
{
	TEST(shares_are_equal);
	TEST(a_newcomer_slows_the_others);
	TEST(a_run_at_once_is_as_entering_and_leaving);
}
