/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a lock would be shown with a holder or with waiters that it did not have. */
#include "export/locklanes.h"
#include "section.h"

static const struct {
	uint64_t start_ms, end_ms;
	uint32_t holder_lane, waiters; /* lane plus one */
} expected[] = {
	/* 0 */ { 10, 15, 2, 0 },
	/* 1 */ { 15, 40, 2, 1 },
	/* 2 */ { 40, 60, 3, 0 },
};

START_TEST(slices_are_where_the_holder_or_the_waiters_change)
{
	struct sketch sketch;
	struct thread_pools pools;
	struct lock_lanes locks;
	struct cells cells;
	section_sketch(&sketch);
	const struct analysis analysis = { .recording = &sketch.rec, .classes = sketch.classes };
	pools_build(&pools, &analysis);
	lock_lanes_build(&locks, &sketch.rec, NULL);
	ck_assert_uint_eq(locks.contended.count, 1);
	ck_assert_uint_eq(locks.contended.locks[0].waited_ns, 25000000);
	cells_begin(&cells, 60000000, 1, 1000);
	lock_lanes_add(&locks, &sketch.rec, &pools, &cells);
	cells_end(&cells);
	ck_assert_uint_eq(locks.waiters[0], 1);
	ck_assert_uint_eq(cells.levels[0].count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < cells.levels[0].count; i++) {
		const struct slice *slice = &cells.levels[0].cells[i].slice;
		ck_assert_uint_eq(slice->start_ns, expected[i].start_ms * SKETCH_MS);
		ck_assert_uint_eq(slice->end_ns, expected[i].end_ms * SKETCH_MS);
		ck_assert_uint_eq(slice->detail, expected[i].holder_lane);
		ck_assert_uint_eq(slice->peak, expected[i].waiters);
	}
	cells_free(&cells);
	lock_lanes_free(&locks);
	pools_free(&pools);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(slices_are_where_the_holder_or_the_waiters_change);
}
