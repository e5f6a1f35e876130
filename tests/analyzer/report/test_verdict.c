/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, answers that mislead would be shown, or good ones withheld.
 */
#include "report/verdict.h"

#include "suite.h"

#include <string.h>

static const struct {
	enum check_state found;
	double above; /* part of the way from the first limit to the second */
	bool may_withhold;
	bool is_forced;
	enum check_state state;
	bool is_withheld;
} rows[] = {
	/* 0 */ { CHECK_PASSED, 0, true, false, CHECK_PASSED, false },
	/* 1 */ { CHECK_PASSED, 0.5, true, false, CHECK_FAILED, false },
	/* 2 */ { CHECK_PASSED, 1, true, false, CHECK_FAILED, false },
	/* 3 */ { CHECK_PASSED, 1.1, true, false, CHECK_WITHHOLDS, true },
	/* 4 */ { CHECK_PASSED, 1.1, true, true, CHECK_WITHHOLDS, false },
	/* 5 */ { CHECK_PASSED, 1.1, false, false, CHECK_FAILED, false },
	/* 6 */ { CHECK_UNKNOWN, 1.1, true, false, CHECK_UNKNOWN, false },
};

START_TEST(answers_are_withheld_above_the_second_limit)
{
	for (enum check_id id = 0; id < CHECK_COUNT; id++) {
		double low = verdict_failed_above(id), high = verdict_withheld_above(id);
		if (id == CHECK_IDLE && !rows[_i].may_withhold)
			continue;
		struct checks checks = { .gravest = CHECK_COUNT };
		ck_assert_double_lt(low, high);
		for (enum check_id each = 0; each < CHECK_COUNT; each++)
			strcpy(checks.rows[each].line, "why");
		checks.rows[id].state = rows[_i].found;
		checks.rows[id].value = low + rows[_i].above * (high - low);
		for (int i = 0; id == CHECK_LATENCY && i < REQUEST_FIGURES; i++)
			checks.figure_off[i] = checks.rows[id].value;
		verdict_reach(&checks, rows[_i].may_withhold, rows[_i].is_forced);
		ck_assert_int_eq(checks.rows[id].state, rows[_i].state);
		bool is_all = id != CHECK_LATENCY; /* that one is of requests alone */
		ck_assert_int_eq(checks.is_withheld, rows[_i].is_withheld && is_all);
		bool is_unsaid = !is_all && rows[_i].found == CHECK_UNKNOWN;
		ck_assert_int_eq(checks.are_requests_withheld, rows[_i].is_withheld || is_unsaid);
		ck_assert_int_eq(checks.gravest,
				 rows[_i].state == CHECK_WITHHOLDS && is_all ? id : CHECK_COUNT);
		for (enum check_id each = 0; each < CHECK_COUNT; each++)
			ck_assert_str_eq(checks.rows[each].line,
					 each == id && rows[_i].state >= CHECK_FAILED ? "why" : "");
	}
}
END_TEST

/* Nothing was to be made faster, whatever is replayed. */
START_TEST(an_idle_run_is_withheld_by_any_model)
{
	struct checks checks = { .gravest = CHECK_COUNT };
	checks.rows[CHECK_IDLE] = (struct check){ .value = 100, .state = CHECK_PASSED };
	verdict_reach(&checks, false, false);
	ck_assert_int_eq(checks.gravest, CHECK_IDLE);
	ck_assert(checks.is_withheld);
}
END_TEST

/* A median that the replay has right is given, whatever the slowest requests take. */
START_TEST(figures_are_withheld_one_by_one)
{
	struct checks checks = { .figure_off = { [REQUEST_P99] = 90 } };
	verdict_reach(&checks, true, false);
	ck_assert(checks.is_figure_withheld[REQUEST_P99]);
	ck_assert(!checks.is_figure_withheld[REQUEST_P50]);
	ck_assert(!checks.are_requests_withheld);
}
END_TEST

/* Of answers that may change places the mean is known, and a percentile if they are fewer than what
 * is beyond it. */
START_TEST(answers_that_change_places_have_no_percentiles)
{
	struct checks few = { .handed_percent = 3 }, all = { .handed_percent = 100 };
	verdict_reach(&few, true, false);
	ck_assert(few.is_figure_withheld[REQUEST_P99] && !few.is_figure_withheld[REQUEST_P95]);
	verdict_reach(&all, true, false);
	ck_assert(all.is_figure_withheld[REQUEST_P50] && !all.is_figure_withheld[REQUEST_MEAN]);
	verdict_reach(&all, true, true);
	ck_assert(!all.is_figure_withheld[REQUEST_P99]);
}
END_TEST

START_TEST(the_first_check_that_withholds_is_named)
{
	struct checks checks = { .gravest = CHECK_COUNT };
	checks.rows[CHECK_DRIFT] = checks.rows[CHECK_LATENCY] =
		(struct check){ .state = CHECK_PASSED, .value = 1e6 };
	verdict_reach(&checks, true, false);
	ck_assert_int_eq(checks.gravest, CHECK_DRIFT);
	ck_assert_str_eq(verdict_check_name(checks.gravest), "drift");
	ck_assert_str_eq(verdict_state_word(checks.rows[CHECK_DRIFT].state), "withholds");
	ck_assert_str_eq(verdict_state_word(CHECK_UNKNOWN), "unknown");
}
END_TEST

SUITE()
{
	EACH(answers_are_withheld_above_the_second_limit, rows);
	TEST(an_idle_run_is_withheld_by_any_model);
	TEST(figures_are_withheld_one_by_one);
	TEST(answers_that_change_places_have_no_percentiles);
	TEST(the_first_check_that_withholds_is_named);
}
