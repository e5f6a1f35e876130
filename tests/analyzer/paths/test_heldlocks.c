/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, the wrong place would be blamed for holding a lock. */
#include "paths/heldlocks.h"
#include "pathed.h"

/* " by from-to" of the only lock, in milliseconds; of nobody: "-". */
static void expect(struct pathed *pathed, const char *expected)
{
	struct path_parts parts;
	struct held_locks locks;
	char text[512] = "", *to = text;
	path_parts_begin(&parts);
	held_locks_build(&locks, &parts, &pathed->of);
	ck_assert_uint_eq(locks.lanes.count, 1);
	ck_assert_uint_eq(locks.lane_of[pathed->wait], 0);
	for (size_t i = 0; i < locks.lanes.stretch_count; i++) {
		const struct lane_stretch *stretch = &locks.lanes.stretches[i];
		struct path_part part = path_parts_at(&parts, stretch->key);
		to += sprintf(to, " %s %g-%g",
			      part.kind == PATH_LOCK ? pathed->sketch.rec.strings[part.by] : "-",
			      (double)stretch->start_ns / SKETCH_MS,
			      (double)stretch->end_ns / SKETCH_MS);
	}
	ck_assert_str_eq(text, expected);
	held_locks_free(&locks);
	path_parts_free(&parts);
}

START_TEST(each_moment_has_its_holder)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	sketch_hold(&pathed.sketch, 2, "table", 7, 22, 30);
	sketch_hold(&pathed.sketch, 0, "table", 8, 25, 33);
	sketch_hold(&pathed.sketch, 0, "other", 8, 1, 2); /* nobody waited for it */
	pathed_end(&pathed);
	expect(&pathed, " n5 12-19 n1 19-20 - 20-22 n7 22-30 n8 30-33");
	pathed_free(&pathed);
}
END_TEST

/* Numbers of holds tell that some are not there. */
START_TEST(missing_holds_are_nobody_known)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	uint32_t first = sketch_hold(&pathed.sketch, 2, "table", 7, 22, 30);
	uint32_t second = sketch_hold(&pathed.sketch, 2, "table", 7, 31, 32);
	pathed.sketch.rec.extras[first].seq = 5;
	pathed.sketch.rec.extras[second].seq = 9;
	pathed_end(&pathed);
	expect(&pathed, " n5 12-19 n1 19-20 - 20-22 n7 22-30  30-31 n7 31-32");
	pathed_free(&pathed);
}
END_TEST

SUITE()
{
	TEST(each_moment_has_its_holder);
	TEST(missing_holds_are_nobody_known);
}
