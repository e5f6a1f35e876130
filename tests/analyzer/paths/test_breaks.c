/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, paths would leave out waits. */
#include "paths/breaks.h"
#include "pathed.h"

START_TEST(waits_and_questions_are_there_in_order_of_their_ends)
{
	struct pathed pathed;
	struct path_parts parts;
	struct owners owners;
	struct held_locks locks;
	struct joints joints;
	struct breaks breaks;
	pathed_begin(&pathed);
	uint32_t link = sketch_link(&pathed.sketch, 2, LINK_WAKE, "c", 23, 1, NO_INDEX);
	uint32_t wait = sketch_wait(&pathed.sketch, 1, REASON_COND, "c", 21, 24, NO_INDEX);
	pathed.of_wait[wait] = (struct waker){ WAKER_LINK, link };
	pathed_end(&pathed);
	path_parts_begin(&parts);
	owners_build(&owners, &pathed.of);
	held_locks_build(&locks, &parts, &pathed.of);
	joints_build(&joints, &pathed.sketch.rec, &pathed.timeline, &pathed.wakers);
	breaks_build(&breaks, &pathed.of, &joints, &owners, &locks);
	ck_assert_uint_eq(breaks.first[1], 0);
	ck_assert_uint_eq(breaks.first[2], 3);
	ck_assert_int_eq(breaks.breaks[0].sort, BREAK_LOCK);
	ck_assert_int_eq(breaks.breaks[1].sort, BREAK_JOINT);
	ck_assert_int_eq(breaks.breaks[2].sort, BREAK_ASKED);
	ck_assert_uint_eq(breaks.breaks[2].index, 2);
	ck_assert_uint_eq(breaks_until(&breaks, 1, 23 * SKETCH_MS), 1);
	ck_assert_uint_eq(breaks_until(&breaks, 1, 24 * SKETCH_MS), 3);
	breaks_free(&breaks);
	joints_free(&joints);
	held_locks_free(&locks);
	owners_free(&owners);
	path_parts_free(&parts);
	pathed_free(&pathed);
}
END_TEST

SUITE()
{
	TEST(waits_and_questions_are_there_in_order_of_their_ends);
}
