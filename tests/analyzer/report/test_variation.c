/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a replay that is wrong about a program would be believed, or one that is right be
 * doubted.
 */
#include "report/variation.h"

#include "looking.h"
#include "report/analysis.h"
#include "suite.h"

static const struct variation_row *row_of(const struct analysis *analysis, uint32_t class)
{
	for (size_t i = 0; i < analysis->variation.row_count; i++)
		if (analysis->variation.rows[i].class == class)
			return &analysis->variation.rows[i];
	return NULL;
}

START_TEST(what_varied_is_held_against_the_replay)
{
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};
	for (int looks = 0; looks < 2; looks++) {
		struct sketch sketch;
		struct analysis analysis;
		char error[OPTIONS_ERROR_BYTES];
		looking_sketch(&sketch, looks);
		ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
		const struct variation_row *row = row_of(&analysis, sketch_class(&sketch, "sync"));
		double makespan_ns = (double)analysis.actual_makespan_ns;
		ck_assert_ptr_nonnull(row);
		ck_assert_double_gt(row->saved_ns, 0.8 * makespan_ns);
		ck_assert_double_lt(row->saved_ns, 1.05 * makespan_ns);
		if (looks) {
			ck_assert_double_lt(row->replay_most_ns, 0.05 * makespan_ns);
			ck_assert_double_gt(row->apart_ns, 0.7 * makespan_ns);
			ck_assert_uint_eq(analysis.variation.rows[analysis.variation.worst].class,
					  row->class);
		} else {
			ck_assert_double_gt(row->replay_least_ns, 0.9 * row->saved_ns);
			ck_assert_double_lt(row->apart_ns, 0.005 * makespan_ns);
		}
		analysis_free(&analysis);
		sketch_free(&sketch);
	}
}
END_TEST

/* The table has no such row: the replay is asked. */
START_TEST(classes_that_are_not_shown_are_compared_too)
{
	struct options options = {
		.top = 10, .factors = { { 0.5 }, 1 }, .class_regex = "nap", .model = "threads"
	};
	struct sketch sketch;
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	looking_sketch(&sketch, true);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	const struct variation_row *row = row_of(&analysis, sketch_class(&sketch, "sync"));
	ck_assert_ptr_nonnull(row);
	ck_assert_double_gt(row->apart_ns, 0.7 * (double)analysis.actual_makespan_ns);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(what_varied_is_held_against_the_replay);
	TEST(classes_that_are_not_shown_are_compared_too);
}
