/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a queue would be said to stand behind work that was done at another time. */
#include "paths/gaps.h"
#include "paths/timeparts.h"
#include "pathed.h"

START_TEST(requests_lie_over_what_their_thread_does)
{
	struct pathed pathed;
	struct path_parts parts;
	struct owners owners;
	struct lanes times, gaps;
	char text[1024] = "", *to = text;
	pathed_begin(&pathed);
	pathed_end(&pathed);
	path_parts_begin(&parts);
	time_parts_build(&times, &parts, &pathed.of);
	owners_build(&owners, &pathed.of);
	gaps_build(&gaps, &parts, &pathed.of, &owners, &times);
	ck_assert_uint_eq(gaps.count, 3);
	ck_assert_uint_eq(gaps.lanes[1].stretch, 0);
	ck_assert_uint_eq(gaps.lanes[2].stretch, gaps.stretch_count);
	for (size_t i = 0; i < gaps.stretch_count; i++) {
		struct path_part part = path_parts_at(&parts, gaps.stretches[i].key);
		to += sprintf(to, " %s %s/%s %g", path_kind_word(part.kind),
			      pathed.sketch.strings[part.name], pathed.sketch.strings[part.by],
			      (double)gaps.stretches[i].end_ns / SKETCH_MS);
	}
	ck_assert_str_eq(text, " io poll/ 10 queued read_a/read_a 10.5 queued read_a/slow 15"
			       " queued read_a/write_a 15.5 queued read_b/read_b 16"
			       " queued read_b/table 19 queued read_b/ 20 queued read_b/ask 20.5"
			       " queued read_b/hear 24 queued read_b/write_b 24.5 queued / 25"
			       " io poll/ 40");
	lanes_free(&gaps);
	lanes_free(&times);
	owners_free(&owners);
	path_parts_free(&parts);
	pathed_free(&pathed);
}
END_TEST

SUITE()
{
	TEST(requests_lie_over_what_their_thread_does);
}
