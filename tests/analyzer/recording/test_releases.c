/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a wait is tied to a release that did not end it. */
#include "recording/releases.h"

#include "sketch.h"
#include "suite.h"

START_TEST(the_last_release_by_another_thread)
{
	struct sketch sketch;
	struct releases releases;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "one", 0, 100);
	sketch_thread(&sketch, "two", 0, 100);
	uint32_t first = sketch_hold(&sketch, 0, "M", 1, 10, 20);
	uint32_t second = sketch_hold(&sketch, 0, "M", 1, 22, 30);
	sketch_hold(&sketch, 1, "M", 1, 31, 40);
	sketch_hold(&sketch, 0, "N", 1, 0, 33);
	sketch_end(&sketch);
	releases_build(&releases, &sketch.rec);
	uint32_t lock = releases.lock_of[first];
	ck_assert_uint_eq(releases.locks.count, 2);
	const struct release *release =
		releases_last(&releases, &sketch.rec, lock, 15 * SKETCH_MS, 31 * SKETCH_MS, 1);
	ck_assert_ptr_nonnull(release);
	ck_assert_uint_eq(release->hold, second);
	/* before the wait began, by oneself, after it ended: none of these */
	ck_assert_ptr_null(
		releases_last(&releases, &sketch.rec, lock, 30 * SKETCH_MS, 39 * SKETCH_MS, 1));
	ck_assert_ptr_null(
		releases_last(&releases, &sketch.rec, lock, 15 * SKETCH_MS, 31 * SKETCH_MS, 0));
	ck_assert_ptr_null(releases_last(&releases, &sketch.rec, NO_INDEX, 0, 31 * SKETCH_MS, 0));
	releases_free(&releases);
	sketch_free(&sketch);
}
END_TEST

/* One thread's record says that it let go later than the one who let go last: numbers decide. */
START_TEST(numbers_go_before_times)
{
	struct sketch sketch;
	struct releases releases;

	sketch_begin(&sketch);
	for (int i = 0; i < 3; i++)
		sketch_thread(&sketch, "thread", 0, 100);
	uint32_t first = sketch_hold(&sketch, 0, "M", 1, 10, 20.001);
	uint32_t second = sketch_hold(&sketch, 1, "M", 1, 12, 20);
	uint32_t third = sketch_hold(&sketch, 2, "M", 1, 30, 40);
	sketch.rec.extras[first].seq = 1;
	sketch.rec.extras[second].seq = 2;
	sketch.rec.extras[third].seq = 3;
	sketch_end(&sketch);
	releases_build(&releases, &sketch.rec);
	uint32_t lock = releases.lock_of[first];
	const struct release *by_time =
		releases_last(&releases, &sketch.rec, lock, 5 * SKETCH_MS, 30 * SKETCH_MS, 2);
	ck_assert_uint_eq(by_time->hold, first);
	const struct release *by_number = releases_granting(&releases, &sketch.rec, lock, third,
							    5 * SKETCH_MS, 30 * SKETCH_MS, 2);
	ck_assert_uint_eq(by_number->hold, second);
	/* processes count for themselves, and so do writers */
	sketch.rec.extras[third].shared = true;
	by_number = releases_granting(&releases, &sketch.rec, lock, third, 5 * SKETCH_MS,
				      30 * SKETCH_MS, 2);
	ck_assert_uint_eq(by_number->hold, first);
	by_number = releases_granting(&releases, &sketch.rec, lock, NO_INDEX, 5 * SKETCH_MS,
				      30 * SKETCH_MS, 2);
	ck_assert_uint_eq(by_number->hold, first);
	/* it followed one that ended before the wait began: then the last one in it */
	sketch.rec.extras[third].shared = false;
	sketch.rec.extras[third].seq = 9;
	by_number = releases_granting(&releases, &sketch.rec, lock, third, 5 * SKETCH_MS,
				      30 * SKETCH_MS, 2);
	ck_assert_uint_eq(by_number->hold, first);
	releases_free(&releases);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(the_last_release_by_another_thread);
	TEST(numbers_go_before_times);
}
