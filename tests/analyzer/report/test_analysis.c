/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the parts of the analysis would not fit together, or warnings that matter stay
 * away.
 */
#include "sketch.h"
#include <errno.h>

#include "report/analysis.h"
#include "report/facts.h"
#include "suite.h"

static struct options sample_options(void)
{
	return (struct options){ .top = 10,
				 .factors = { { 0, 0.5 }, 2 },
				 .min_self_ns = 0,
				 .dead_air_min_ns = 1,
				 .chain_depth = 25,
				 .class_regex = "",
				 .client = "",
				 .thread_glob = "",
				 .color = "never" };
}

static void sample_begin(struct sketch *sketch)
{
	sketch_begin(sketch);
	uint32_t root = sketch_bare_op(sketch, NO_INDEX, KIND_CALL, 1, 100, 200);
	sketch_bare_op(sketch, root, KIND_EXEC, 2, 120, 180);
	sketch_bare_op(sketch, NO_INDEX, KIND_CALL, 3, 250, 300);
}

static bool has_warning(const struct analysis *analysis, const char *part)
{
	for (size_t i = 0; i < analysis->warning_count; i++)
		if (strstr(analysis->warnings[i], part))
			return true;
	return false;
}

START_TEST(everything_is_found_out)
{
	struct sketch sketch;
	struct options options = sample_options();
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	sample_begin(&sketch);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	ck_assert_uint_eq(analysis.span_ns, 200);
	ck_assert_uint_eq(analysis.actual_makespan_ns, 200);
	ck_assert_uint_eq(analysis.classes.count, 3);
	ck_assert_uint_eq(analysis.whatif.row_count, 3);
	ck_assert_double_eq(analysis.whatif.baseline.makespan_ns, 200);
	ck_assert_double_eq(facts_drift_percent(&analysis), 0);
	ck_assert_uint_eq(analysis.warning_count, 0);
	ck_assert_str_eq(facts_class_name(&analysis, 1), "n2");
	ck_assert_str_eq(facts_class_kind(&analysis, 1), "exec");
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

START_TEST(only_classes_that_match_are_shown_and_tried)
{
	struct sketch sketch;
	struct options options = sample_options();
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	sample_begin(&sketch);
	options.class_regex = "^n[13]$";
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	ck_assert_uint_eq(analysis.whatif.row_count, 2);
	ck_assert(analysis.is_shown[0] && !analysis.is_shown[1] && analysis.is_shown[2]);
	analysis_free(&analysis);
	options.class_regex = "n[";
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error, "--class"));
	sketch_free(&sketch);
}
END_TEST

/* Each row makes one thing doubtful, and one warning says so. */
static const struct {
	uint64_t dropped;
	size_t truncated;
	enum { CALM, LATE_CHILD, UNKNOWN_WAIT, ORPHAN, CIRCLE } trouble;
	const char *said;
} rows[] = {
	/* 0 */ { 7, 0, CALM, "7 events were dropped" },
	/* 1 */ { 0, 2, CALM, "2 files end in the middle of a line" },
	/* 2 */ { 0, 0, LATE_CHILD, "the replay of the unchanged run is off by" },
	/* 3 */ { 0, 0, UNKNOWN_WAIT, "have no known cause" },
	/* 4 */ { 0, 0, ORPHAN, "belong to no known op" },
	/* 5 */ { 0, 0, CIRCLE, "form cycles" },
};

START_TEST(what_is_doubtful_is_said)
{
	struct sketch sketch;
	struct options options = sample_options();
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	sample_begin(&sketch);
	sketch.rec.dropped_events = rows[_i].dropped;
	sketch.rec.truncated_files = rows[_i].truncated;
	if (rows[_i].trouble == LATE_CHILD) /* covers its parent, which does not wait for it */
		sketch_bare_op(&sketch, 0, KIND_CALL, 4, 100, 320);
	if (rows[_i].trouble == UNKNOWN_WAIT)
		sketch_bare_wait(&sketch, 0, NO_INDEX, REASON_LOCK, 100, 150);
	if (rows[_i].trouble == ORPHAN)
		sketch_bare_wait(&sketch, NO_INDEX, 0, REASON_LOCK, 100, 110);
	if (rows[_i].trouble == CIRCLE)
		sketch_bare_wait(&sketch, 1, 0, REASON_LOCK, 130, 140);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	ck_assert_msg(has_warning(&analysis, rows[_i].said), "no \"%s\"", rows[_i].said);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

START_TEST(an_empty_recording_is_analyzed)
{
	struct sketch sketch;
	struct options options = sample_options();
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	sketch_begin(&sketch);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	ck_assert_double_eq(analysis.whatif.baseline.makespan_ns, 0);
	ck_assert_uint_eq(analysis.warning_count, 0);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(everything_is_found_out);
	TEST(only_classes_that_match_are_shown_and_tried);
	EACH(what_is_doubtful_is_said, rows);
	TEST(an_empty_recording_is_analyzed);
}
