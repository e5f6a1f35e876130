/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if what a thread did comes out of order. */
#include "recording/timeline.h"

#include "sketch.h"
#include "suite.h"

static void expect(const struct timeline *timeline, size_t at, enum moment_type type,
		   uint32_t index)
{
	ck_assert_msg(moment_type(&timeline->moments[at]) == type &&
			      timeline->moments[at].index == index,
		      "moment %zu: type %d of %u, not %d of %u", at,
		      (int)moment_type(&timeline->moments[at]), timeline->moments[at].index,
		      (int)type, index);
}

START_TEST(nested_ops_begin_outside_and_end_inside)
{
	struct sketch sketch;
	struct timeline timeline;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	uint32_t outer = sketch_op(&sketch, KIND_HOLD, "M", 0, 1, 5);
	uint32_t inner = sketch_op(&sketch, KIND_IO, "read", 0, 1, 5);
	uint32_t next = sketch_op(&sketch, KIND_IO, "write", 0, 5, 6);
	uint32_t wait = sketch_wait(&sketch, 0, REASON_SEM, "S", 5, 5, NO_INDEX);
	uint32_t link = sketch_link(&sketch, 0, LINK_POST, "S", 5, 0, NO_INDEX);
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	ck_assert(timeline_is_valid(&timeline, &sketch.rec));
	ck_assert_uint_eq(timeline.first[1], 8);
	expect(&timeline, 0, MOMENT_OP_BEGIN, outer);
	expect(&timeline, 1, MOMENT_OP_BEGIN, inner);
	expect(&timeline, 2, MOMENT_OP_END, inner);
	expect(&timeline, 3, MOMENT_OP_END, outer);
	expect(&timeline, 4, MOMENT_LINK, link);
	expect(&timeline, 5, MOMENT_WAIT_POINT, wait);
	expect(&timeline, 6, MOMENT_OP_BEGIN, next);
	ck_assert_uint_eq(timeline_at(&timeline, 0, 0), 0);
	ck_assert_uint_eq(timeline_at(&timeline, 0, SKETCH_MS + 1), 2);
	ck_assert_uint_eq(timeline_at(&timeline, 0, 5 * SKETCH_MS), 2);
	ck_assert_uint_eq(timeline_at(&timeline, 0, 7 * SKETCH_MS), 8);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

START_TEST(any_order_is_sorted)
{
	struct sketch sketch;
	struct timeline timeline;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 5000);
	sketch_thread(&sketch, "other", 0, 5000);
	for (int i = 0; i < 1000; i++)
		sketch_op(&sketch, KIND_IO, "read", (uint32_t)i % 2, (i * 617) % 1000,
			  (i * 617) % 1000 + 0.5);
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	ck_assert(timeline_is_valid(&timeline, &sketch.rec));
	ck_assert_uint_eq(timeline.first[2], 2000);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(nested_ops_begin_outside_and_end_inside);
	TEST(any_order_is_sorted);
}
