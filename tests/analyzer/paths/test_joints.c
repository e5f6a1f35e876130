/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, paths would change to another thread where that one ended no wait. */
#include "paths/joints.h"
#include "sketch.h"
#include "suite.h"

START_TEST(waits_that_others_ended_are_found_by_their_ends)
{
	struct sketch sketch;
	struct timeline timeline;
	struct joints joints;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 30);
	sketch_thread(&sketch, "other", 0, 30);
	uint32_t first = sketch_hold(&sketch, 1, "lock", 1, 1, 4);
	uint32_t second = sketch_hold(&sketch, 1, "lock", 1, 5, 9);
	sketch_wait(&sketch, 0, REASON_MUTEX, "lock", 2, 5, first);
	sketch_wait(&sketch, 0, REASON_MUTEX, "lock", 6, 8, first);    /* was over before */
	sketch_wait(&sketch, 0, REASON_MUTEX, "lock", 6, 8, second);   /* ended later */
	sketch_wait(&sketch, 1, REASON_MUTEX, "lock", 10, 12, second); /* its own */
	struct waker of_wait[] = { { WAKER_OP_END, first },
				   { WAKER_OP_END, first },
				   { WAKER_OP_END, second },
				   { WAKER_OP_END, second } };
	struct waker of_op[SKETCH_MAX] = { 0 };
	struct wakers wakers = { .of_wait = of_wait, .of_op = of_op };
	timeline_build(&timeline, &sketch.rec);
	joints_build(&joints, &sketch.rec, &timeline, &wakers);
	ck_assert_uint_eq(joints.first[2], 2);
	const struct joint *joint = joints_before(&joints, 0, 7 * SKETCH_MS);
	ck_assert_uint_eq(joint->at_ns, 4 * SKETCH_MS);
	ck_assert_uint_eq(joint->thread, 1);
	joint = joints_before(&joints, 0, 8 * SKETCH_MS);
	ck_assert_uint_eq(joint->at_ns, 8 * SKETCH_MS);
	ck_assert_uint_eq(joint->start_ns, 6 * SKETCH_MS);
	ck_assert_ptr_null(joints_before(&joints, 0, 4 * SKETCH_MS));
	ck_assert_ptr_null(joints_before(&joints, 1, 30 * SKETCH_MS));
	joints_free(&joints);
	wakers = (struct wakers){ 0 };
	joints_build(&joints, &sketch.rec, &timeline, &wakers);
	ck_assert_uint_eq(joints.first[2], 0);
	joints_free(&joints);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(waits_that_others_ended_are_found_by_their_ends);
}
