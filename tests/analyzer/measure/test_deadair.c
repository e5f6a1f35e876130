/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, gaps would be reported in which something ran, or real gaps missed.
 */
#include "build.h"

#include "measure/deadair.h"
#include "suite.h"

static struct deadair deadair_of(const struct recording *recording, uint64_t min_ns)
{
	struct graph graph;
	struct deadair deadair;
	graph_build(&graph, recording);
	deadair_build(&deadair, &graph, min_ns);
	graph_free(&graph);
	return deadair;
}

START_TEST(gaps_are_between_all_ops_and_relative_to_the_first)
{
	struct recording recording = build_recording();
	uint32_t root = build_op(&recording, NO_INDEX, KIND_CALL, 1, 100, 200);
	build_op(&recording, root, KIND_CALL, 1, 150, 250); /* sticks out of its parent */
	build_op(&recording, NO_INDEX, KIND_CALL, 1, 300, 400);
	build_op(&recording, NO_INDEX, KIND_CALL, 1, 310, 320); /* covered */
	build_op(&recording, NO_INDEX, KIND_CALL, 1, 430, 440);
	struct deadair deadair = deadair_of(&recording, 40);
	ck_assert_uint_eq(deadair.gap_count, 1);
	ck_assert_uint_eq(deadair.gaps[0].start_ns, 150);
	ck_assert_uint_eq(deadair.gaps[0].end_ns, 200);
	ck_assert_uint_eq(deadair.total_ns, 50);
	deadair_free(&deadair);
	deadair = deadair_of(&recording, 30);
	ck_assert_uint_eq(deadair.gap_count, 2);
	deadair_free(&deadair);
	build_free(&recording);
}
END_TEST

START_TEST(ops_that_touch_leave_no_gap)
{
	struct recording recording = build_recording();
	build_op(&recording, NO_INDEX, KIND_CALL, 1, 20, 30);
	build_op(&recording, NO_INDEX, KIND_CALL, 1, 10, 20);
	struct deadair deadair = deadair_of(&recording, 0);
	ck_assert_uint_eq(deadair.gap_count, 0);
	deadair_free(&deadair);
	build_free(&recording);
}
END_TEST

START_TEST(an_empty_recording_has_no_gap)
{
	struct recording recording = build_recording();
	struct deadair deadair = deadair_of(&recording, 0);
	ck_assert_uint_eq(deadair.gap_count, 0);
	deadair_free(&deadair);
	build_free(&recording);
}
END_TEST

SUITE()
{
	TEST(gaps_are_between_all_ops_and_relative_to_the_first);
	TEST(ops_that_touch_leave_no_gap);
	TEST(an_empty_recording_has_no_gap);
}
