/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a replay that is wrong about a program would be believed, or one that is right be
 * doubted.
 */
#include "report/variation.h"

#include <math.h>

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

/* A thread makes up for long syncs: it does less between its calls. The run seems to be the longer
 * the briefer the syncs are. */
START_TEST(what_would_make_the_run_longer_tells_nothing)
{
	struct options options = {
		.top = 10, .factors = { { 0.5 }, 1 }, .class_regex = "", .model = "threads"
	};
	struct sketch sketch;
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	uint64_t state = 5;
	double at_ms = 0;
	sketch_begin(&sketch);
	uint32_t main_thread = sketch_thread(&sketch, "main", 0, 4.1 * LOOKING_ROUNDS);
	for (int i = 0; i < LOOKING_ROUNDS; i++) {
		double sync_ms = 1 + (double)random_number(&state, 1000001) / 1e6;
		double rest_ms = 8 - 4 * sync_ms;
		at_ms += rest_ms;
		sketch_io(&sketch, main_thread, "sync", "file log", 1, at_ms, at_ms + sync_ms);
		at_ms += sync_ms + 0.1;
		sketch_io(&sketch, main_thread, "write", "file log", 1, at_ms - 0.1, at_ms);
	}
	sketch_end(&sketch);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	const struct sensitivity *found = &analysis.variation.sensitivity;
	double least_ns = 0;
	for (size_t i = 0; i < found->count; i++)
		least_ns = fmin(least_ns, found->rows[i].saved_ns);
	ck_assert_double_lt(least_ns, -0.3 * (double)analysis.actual_makespan_ns);
	ck_assert_ptr_null(row_of(&analysis, sketch_class(&sketch, "sync")));
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(what_varied_is_held_against_the_replay);
	TEST(classes_that_are_not_shown_are_compared_too);
	TEST(what_would_make_the_run_longer_tells_nothing);
}
