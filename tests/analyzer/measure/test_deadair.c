/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, gaps would be reported in which something ran, or real gaps missed.
 */
#include "sketch.h"

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
	struct sketch sketch;
	sketch_begin(&sketch);
	uint32_t root = sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 100, 200);
	sketch_bare_op(&sketch, root, KIND_CALL, 1, 150, 250); /* sticks out of its parent */
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 300, 400);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 310, 320); /* covered */
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 430, 440);
	struct deadair deadair = deadair_of(&sketch.rec, 40);
	ck_assert_uint_eq(deadair.gap_count, 1);
	ck_assert_uint_eq(deadair.gaps[0].start_ns, 150);
	ck_assert_uint_eq(deadair.gaps[0].end_ns, 200);
	ck_assert_uint_eq(deadair.total_ns, 50);
	deadair_free(&deadair);
	deadair = deadair_of(&sketch.rec, 30);
	ck_assert_uint_eq(deadair.gap_count, 2);
	deadair_free(&deadair);
	sketch_free(&sketch);
}
END_TEST

START_TEST(ops_that_touch_leave_no_gap)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 20, 30);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 10, 20);
	struct deadair deadair = deadair_of(&sketch.rec, 0);
	ck_assert_uint_eq(deadair.gap_count, 0);
	deadair_free(&deadair);
	sketch_free(&sketch);
}
END_TEST

START_TEST(an_empty_recording_has_no_gap)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	struct deadair deadair = deadair_of(&sketch.rec, 0);
	ck_assert_uint_eq(deadair.gap_count, 0);
	deadair_free(&deadair);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(gaps_are_between_all_ops_and_relative_to_the_first);
	TEST(ops_that_touch_leave_no_gap);
	TEST(an_empty_recording_has_no_gap);
}
