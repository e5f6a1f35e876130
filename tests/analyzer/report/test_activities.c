/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a report says that a thread did what it did at another time. */
#include "report/activities.h"

#include <stdlib.h>

#include "suite.h"
#include "tailing.h"

START_TEST(a_timeline_is_of_its_time)
{
	struct tailing made;
	uint64_t left_out_ns;
	size_t count;
	tailing_make(&made);
	struct activities *activities = activities_new(&made.analysis);
	struct activity *all = activities_of(activities, 0, 2 * SKETCH_MS, 7 * SKETCH_MS, 10,
					     &count, &left_out_ns);
	ck_assert_uint_ge(count, 2);
	ck_assert_uint_eq(all[0].start_ns, 2 * SKETCH_MS);
	ck_assert_uint_eq(all[0].end_ns, 6 * SKETCH_MS);
	ck_assert_str_eq(activities_word(all[0].state), "blocked");
	ck_assert_str_eq(all[0].what, "table");
	ck_assert_uint_eq(all[count - 1].end_ns, 7 * SKETCH_MS);
	ck_assert_str_eq(all[count - 1].what, "nap");
	ck_assert_uint_eq(left_out_ns, 0);
	free(all);
	all = activities_of(activities, 0, 2 * SKETCH_MS, 7 * SKETCH_MS, 1, &count, &left_out_ns);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(left_out_ns, SKETCH_MS);
	free(all);
	activities_free(activities);
	tailing_free(&made);
}
END_TEST

SUITE()
{
	TEST(a_timeline_is_of_its_time);
}
