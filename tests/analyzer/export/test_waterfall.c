/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a request is shown with what another one did, or with gaps. */
#include "export/waterfall.h"

#include "format.h"
#include "slow_requests.h"
#include "suite.h"

START_TEST(a_window_has_its_slices)
{
	struct slow slow;
	struct waterfall_window window = { .thread = 1,
					   .from_ns = 76 * SKETCH_MS + 500000,
					   .to_ns = 80 * SKETCH_MS };
	slow_begin(&slow);
	waterfall_fill(&window, 1, &slow.walk);
	ck_assert_uint_eq(window.slice_count, 2);
	ck_assert_uint_eq(window.slices[0].start_ns, window.from_ns);
	ck_assert_uint_eq(window.slices[0].end_ns, 77 * SKETCH_MS);
	ck_assert_uint_eq(window.slices[1].end_ns, window.to_ns);
	ck_assert_uint_eq(window.slices[1].waker, NO_INDEX); /* it goes on */
	ck_assert_uint_eq(window.left_out, 0);
	waterfall_free(&window, 1);
	slow_end(&slow);
}
END_TEST

START_TEST(who_ended_its_waits_has_a_window)
{
	struct slow slow;
	struct waterfall_window window = {
		.subject = 7, .thread = 1, .from_ns = 76 * SKETCH_MS, .to_ns = 82 * SKETCH_MS
	};
	struct waterfall_window others[WATERFALL_OTHERS];
	slow_begin(&slow);
	waterfall_fill(&window, 1, &slow.walk);
	ck_assert_uint_eq(window.slices[window.slice_count - 1].waker, 2);
	ck_assert_uint_eq(waterfall_others(&window, others), 1);
	ck_assert_uint_eq(others[0].thread, 2);
	ck_assert_uint_eq(others[0].subject, 7);
	ck_assert_uint_eq(others[0].from_ns, window.from_ns);
	waterfall_fill(others, 1, &slow.walk);
	ck_assert_uint_eq(others[0].slices[0].start_ns, window.from_ns);
	waterfall_free(&window, 1);
	waterfall_free(others, 1);
	slow_end(&slow);
}
END_TEST

START_TEST(the_longest_wakers_come_first)
{
	struct waterfall_slice slices[] = {
		{ .end_ns = 10, .waker = 1 },        { .end_ns = 50, .waker = 2 },
		{ .end_ns = 5, .waker = 3 },         { .end_ns = 45, .waker = 1 },
		{ .end_ns = 7, .waker = 4 },         { .end_ns = 3, .waker = 3 },
		{ .end_ns = 99, .waker = NO_INDEX },
	};
	const struct waterfall_window window = { .slices = slices, .slice_count = 7 };
	struct waterfall_window others[WATERFALL_OTHERS];
	ck_assert_uint_eq(waterfall_others(&window, others), WATERFALL_OTHERS);
	ck_assert_uint_eq(others[0].thread, 1);
	ck_assert_uint_eq(others[1].thread, 2);
	ck_assert_uint_eq(others[2].thread, 3);
}
END_TEST

START_TEST(of_many_slices_the_longest_are_kept)
{
	struct slow slow;
	struct waterfall_window window = { .thread = 2, .to_ns = 100 * SKETCH_MS };
	slow_begin(&slow);
	walk_end(&slow.walk);
	for (uint32_t i = 0; i < 200; i++)
		sketch_sleep(&slow.sketch, 2, "nap", 1 + 0.1 * i, 1.01 + 0.1 * i + 0.0001 * i);
	class_table_free(&slow.sketch.classes);
	sketch_end(&slow.sketch);
	slow_walk(&slow);
	waterfall_fill(&window, 1, &slow.walk);
	uint64_t sum_ns = window.left_out_ns, least_ns = UINT64_MAX;
	for (size_t i = 0; i < window.slice_count; i++) {
		uint64_t ns = window.slices[i].end_ns - window.slices[i].start_ns;
		ck_assert(i == 0 || window.slices[i].start_ns >= window.slices[i - 1].end_ns);
		sum_ns += ns;
		least_ns = ns < least_ns ? ns : least_ns;
	}
	ck_assert_uint_eq(window.slice_count, WATERFALL_SLICES);
	ck_assert_uint_gt(window.left_out, 0);
	ck_assert_uint_ge(least_ns, window.left_out_ns / window.left_out);
	ck_assert_uint_eq(sum_ns, 100 * SKETCH_MS);
	waterfall_free(&window, 1);
	slow_end(&slow);
}
END_TEST

SUITE()
{
	TEST(a_window_has_its_slices);
	TEST(who_ended_its_waits_has_a_window);
	TEST(the_longest_wakers_come_first);
	TEST(of_many_slices_the_longest_are_kept);
}
