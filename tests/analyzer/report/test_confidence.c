/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a report would seem surer than its checks are, or not say what is wrong with it.
 */
#include "report/confidence.h"

#include "report/verdict.h"
#include "suite.h"

#include <string.h>

static struct analysis analysis_of(bool has_script)
{
	static const struct recording nothing;
	struct analysis analysis = { .recording = &nothing,
				     .has_script = has_script,
				     .actual_makespan_ns = 1000000 };
	for (enum check_id id = 0; id < CHECK_COUNT; id++) {
		analysis.checks.rows[id].state = CHECK_PASSED;
		snprintf(analysis.checks.rows[id].line, CHECK_LINE_BYTES, "cause %d", (int)id);
	}
	return analysis;
}

START_TEST(every_check_counts)
{
	char why[CONFIDENCE_BYTES], expected[CONFIDENCE_BYTES];
	for (enum check_id id = 0; id < CHECK_COUNT; id++) {
		double low = verdict_failed_above(id), high = verdict_withheld_above(id);
		for (int level = 0; level < 3; level++) {
			struct analysis analysis = analysis_of(true);
			analysis.checks.rows[id].value = level == 2   ? high + 1
							 : level == 1 ? (low + high) / 2
								      : low;
			verdict_reach(&analysis.checks, true, false);
			int sum = level == 2 && id == CHECK_LATENCY ? 1 : level; /* of requests */
			ck_assert_int_eq(confidence_of(&analysis, why), sum);
			snprintf(expected, sizeof(expected), "cause %d%s%s", (int)id,
				 verdict_advice(id)[0] ? "; " : "", verdict_advice(id));
			ck_assert_str_eq(why, sum == 2   ? expected
					      : sum == 1 ? verdict_check_name(id)
							 : "");
		}
	}
	ck_assert_str_eq(confidence_word(CONFIDENCE_SURE), "sure");
	ck_assert_str_eq(confidence_word(CONFIDENCE_FAIR), "fair");
	ck_assert_str_eq(confidence_word(CONFIDENCE_WITHHELD), "withheld");
}
END_TEST

START_TEST(forcing_answers_makes_them_no_surer)
{
	char why[CONFIDENCE_BYTES];
	struct analysis analysis = analysis_of(true);
	analysis.checks.rows[CHECK_DRIFT].value = 100;
	verdict_reach(&analysis.checks, true, true);
	ck_assert(!analysis.checks.is_withheld);
	ck_assert_int_eq(confidence_of(&analysis, why), CONFIDENCE_WITHHELD);
}
END_TEST

START_TEST(of_nothing_nothing_is_sure)
{
	char why[CONFIDENCE_BYTES];
	struct analysis analysis = analysis_of(true);
	analysis.actual_makespan_ns = 0;
	verdict_reach(&analysis.checks, true, false);
	ck_assert_int_eq(confidence_of(&analysis, why), CONFIDENCE_FAIR);
	ck_assert_str_eq(why, "nothing was recorded");
}
END_TEST

/* Of a makespan of 1 ms. */
START_TEST(unsampled_threads_may_spin)
{
	static const struct {
		uint32_t threads;
		uint64_t cpu_ns;
		enum confidence confidence;
	} cases[] = { { 2, 300000, CONFIDENCE_FAIR },
		      { 2, 50000, CONFIDENCE_SURE },
		      { 1, 300000, CONFIDENCE_SURE } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct thread_time rows[2] = { { .cpu_ns = cases[i].cpu_ns } };
		char why[CONFIDENCE_BYTES];
		struct analysis analysis = analysis_of(true);
		analysis.threads = (struct thread_table){ .rows = rows, .count = cases[i].threads };
		analysis.checks.rows[CHECK_SPINNING].state = CHECK_UNKNOWN;
		verdict_reach(&analysis.checks, true, false);
		ck_assert_int_eq(confidence_of(&analysis, why), cases[i].confidence);
	}
}
END_TEST

/* The class that saves most, of a makespan of 1 ms. */
START_TEST(a_wide_range_is_not_sure)
{
	static const struct {
		double least_ns;
		double most_ns;
		enum confidence confidence;
	} cases[] = { { 250e3, 340e3, CONFIDENCE_SURE },
		      { 250e3, 360e3, CONFIDENCE_FAIR },
		      { -100e3, 300e3, CONFIDENCE_FAIR } };
	const struct options options = { .factors = { .factors = { 0.5 }, .count = 1 } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct estimate estimates[] = { { .saved_ns = 300e3,
						  .least_ns = cases[i].least_ns,
						  .most_ns = cases[i].most_ns },
						{ .saved_ns = 1e3, .most_ns = 500e3 } };
		struct whatif_row rows[2];
		char why[CONFIDENCE_BYTES];
		struct analysis analysis = analysis_of(true);
		for (uint32_t row = 0; row < 2; row++)
			rows[row] = (struct whatif_row){ .class = row,
							 .same_as = NO_INDEX,
							 .within = NO_INDEX,
							 .estimates = &estimates[row] };
		analysis.options = &options;
		analysis.whatif.rows = rows;
		analysis.whatif.row_count = 2;
		analysis.whatif.baseline.makespan_ns = 1000000;
		verdict_reach(&analysis.checks, true, false);
		ck_assert_int_eq(confidence_of(&analysis, why), cases[i].confidence);
		ck_assert_str_eq(why, cases[i].confidence == CONFIDENCE_FAIR ? "a wide range" : "");
	}
}
END_TEST

/* Of a makespan of 1 ms. */
START_TEST(the_largest_sure_answer_that_is_new_is_given)
{
	struct variation_row rows[] = { { .class = 0, .saved_ns = 900e3, .error_ns = 400e3 },
					{ .class = 1, .saved_ns = 500e3, .error_ns = 10e3 },
					{ .class = 2, .saved_ns = 300e3, .error_ns = 10e3 },
					{ .class = 3, .saved_ns = 5e3, .error_ns = 1e3 } };
	struct analysis analysis = analysis_of(true);
	analysis.variation = (struct variation){ .rows = rows, .row_count = 4 };
	ck_assert_ptr_null(confidence_other_answer(&analysis));
	rows[2].apart_ns = rows[3].apart_ns = 100e3;
	ck_assert_ptr_eq(confidence_other_answer(&analysis), &rows[2]);
	analysis.checks.is_withheld = true;
	ck_assert_ptr_eq(confidence_other_answer(&analysis), &rows[1]);
}
END_TEST

SUITE()
{
	TEST(every_check_counts);
	TEST(forcing_answers_makes_them_no_surer);
	TEST(of_nothing_nothing_is_sure);
	TEST(unsampled_threads_may_spin);
	TEST(a_wide_range_is_not_sure);
	TEST(the_largest_sure_answer_that_is_new_is_given);
}
