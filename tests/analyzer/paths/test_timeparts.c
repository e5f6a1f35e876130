/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a thread's time would be said to have gone into other calls or functions. */
#include "paths/timeparts.h"
#include "pathed.h"

/* "kind name from-to", in milliseconds. */
static void print_lane(char *to, const struct pathed *pathed, const struct lanes *lanes,
		       const struct path_parts *parts, size_t lane)
{
	*to = '\0';
	for (size_t i = lanes->lanes[lane].stretch; i < lanes->lanes[lane + 1].stretch; i++) {
		const struct lane_stretch *stretch = &lanes->stretches[i];
		struct path_part part = path_parts_at(parts, stretch->key);
		to += sprintf(to, " %s %s %g-%g", path_kind_word(part.kind),
			      pathed->sketch.rec.strings[part.name],
			      (double)stretch->start_ns / SKETCH_MS,
			      (double)stretch->end_ns / SKETCH_MS);
	}
}

START_TEST(all_time_of_a_thread_has_parts)
{
	static const struct rec_sample samples[] = {
		{ .thread = 2, .at_ns = 10000000 },
		{ .thread = 2, .at_ns = 40000000, .cpu_ns = 15000000, .queued_ns = 1 },
	};
	struct pathed pathed;
	struct path_parts parts;
	struct lanes lanes;
	char text[1024];
	pathed_begin(&pathed);
	pathed_end(&pathed);
	pathed.sketch.rec.samples = (struct rec_sample *)samples;
	pathed.sketch.rec.sample_count = 2;
	path_parts_begin(&parts);
	time_parts_build(&lanes, &parts, &pathed.of);
	print_lane(text, &pathed, &lanes, &parts, 1);
	ck_assert_str_eq(text,
			 " io poll 0-10 io read_a 10-10.5 io slow 10.5-15 io write_a 15-15.5"
			 " io read_b 15.5-16 wait table 16-19 unexplained  19-20 io ask 20-20.5"
			 " io hear 20.5-24 io write_b 24-24.5 unexplained  24.5-25 io poll 25-40");
	print_lane(text, &pathed, &lanes, &parts, 2);
	ck_assert_str_eq(text, " unexplained  0-10 cpu holder 10-25 unexplained  25-40");
	lanes_free(&lanes);
	path_parts_free(&parts);
	pathed_free(&pathed);
}
END_TEST

SUITE()
{
	TEST(all_time_of_a_thread_has_parts);
}
