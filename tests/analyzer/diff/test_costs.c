/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a class would have another one's time, or time of requests be lost at a border.
 */
#include "diff/costs.h"

#include "compared.h"
#include "suite.h"

static struct compared compared;
static struct costs costs;

static double sum(const struct costs *of, const char *kind, const char *name, enum cost_part part)
{
	const struct cost_class *class = costs_find(of, kind, name, false);
	double total = 0;
	ck_assert_msg(class != NULL, "no %s %s", kind, name);
	for (size_t i = 0; i < of->stretch_count; i++)
		total += cost_amounts(of, class, part)[i];
	return total;
}

/* Of all ops or waits with this name. */
static double recorded_ns(uint16_t kind)
{
	double total = 0;
	for (size_t i = 0; i < compared.sketch.rec.op_count; i++)
		if (compared.sketch.rec.ops[i].kind == kind)
			total += (double)(compared.sketch.rec.ops[i].end_ns -
					  compared.sketch.rec.ops[i].start_ns);
	return total;
}

START_TEST(classes_have_their_time_and_number)
{
	compared_begin(&compared, "nap", 3, 1);
	costs_build(&costs, &compared.analysis, UNIT_REQUEST, NULL);
	ck_assert_double_eq(sum(&costs, "sleep", "nap", COST_COUNT), COMPARED_REQUESTS);
	ck_assert_double_eq_tol(sum(&costs, "sleep", "nap", COST_TIME), recorded_ns(KIND_SLEEP),
				1e3);
	ck_assert_double_eq_tol(sum(&costs, "sleep", "nap", COST_BLOCKED), recorded_ns(KIND_SLEEP),
				1e3);
	ck_assert_double_eq(sum(&costs, "io", "write", COST_COUNT), COMPARED_REQUESTS / 2);
	double medians = sum(&costs, "sleep", "nap", COST_MEDIANS);
	ck_assert_double_eq(medians, (double)costs.stretch_count);
	ck_assert_double_eq_tol(sum(&costs, "sleep", "nap", COST_USUAL), medians * 3e6,
				medians * 3e5);
	ck_assert_double_eq_tol(sum(&costs, "hold", "table", COST_TIME), recorded_ns(KIND_HOLD),
				1e3);
	ck_assert_double_eq(sum(&costs, "mutex", "table", COST_COUNT), COMPARED_REQUESTS);
	ck_assert(sum(&costs, "mutex", "table", COST_BLOCKED) > 0);
	ck_assert(costs_find(&costs, "mutex", "table", false)->is_wait);
	ck_assert(costs_find(&costs, "hold", "table", false)->is_within);
	ck_assert(!costs_find(&costs, "sleep", "nap", false)->is_within);
	ck_assert_ptr_null(costs_find(&costs, "sleep", "table", false));
	costs_free(&costs);
	compared_end(&compared);
}
END_TEST

START_TEST(ways_of_requests_add_up_to_their_time)
{
	double taken_ns = 0, path_ns = 0;
	compared_begin(&compared, "nap", 3, 1);
	costs_build(&costs, &compared.analysis, UNIT_REQUEST, NULL);
	for (size_t i = 0; i < costs.request_count; i++)
		taken_ns += (double)costs.requests[i].taken_ns;
	for (size_t i = 0; i < costs.class_count; i++)
		for (size_t k = 0; k < costs.stretch_count && costs.classes[i].is_path; k++)
			path_ns += cost_amounts(&costs, &costs.classes[i], COST_TIME)[k];
	ck_assert_double_eq_tol(path_ns, taken_ns, 1e-6 * taken_ns);
	ck_assert_ptr_nonnull(costs_find(&costs, "io", "nap", true));
	costs_free(&costs);
	compared_end(&compared);
}
END_TEST

START_TEST(requests_come_in_order_of_their_time)
{
	compared_begin(&compared, "nap", 3, 1);
	costs_build(&costs, &compared.analysis, UNIT_REQUEST, NULL);
	ck_assert_uint_eq(costs.request_count, COMPARED_REQUESTS);
	for (size_t i = 0; i < costs.request_count; i++) {
		ck_assert_uint_lt(costs.requests[i].stretch, costs.stretch_count);
		ck_assert(!i || costs.requests[i - 1].taken_ns <= costs.requests[i].taken_ns);
	}
	costs_free(&costs);
	compared_end(&compared);
}
END_TEST

START_TEST(a_mapping_makes_one_of_two)
{
	const struct text_list rules = { { "s/main|other/server/" }, 1 };
	char error[OPTIONS_ERROR_BYTES];
	struct mapping mapping;
	ck_assert_int_eq(mapping_parse(&mapping, &rules, error), 0);
	compared_begin(&compared, "nap", 3, 1);
	costs_build(&costs, &compared.analysis, UNIT_RUN, &mapping);
	ck_assert_double_eq(sum(&costs, "thread", "server", COST_COUNT), 3);
	ck_assert_ptr_null(costs_find(&costs, "thread", "main", false));
	costs_free(&costs);
	mapping_free(&mapping);
	compared_end(&compared);
}
END_TEST

START_TEST(recordings_become_stretches_of_their_own)
{
	struct costs all = { 0 };
	const char *const calls[] = { "nap", "doze", "nap" };
	for (size_t i = 0; i < 3; i++) {
		compared_begin(&compared, calls[i], 3, i);
		costs_build(&costs, &compared.analysis, UNIT_REQUEST, NULL);
		costs_add(&all, &costs);
		costs_free(&costs);
		compared_end(&compared);
	}
	ck_assert_uint_eq(all.recordings, 3);
	ck_assert_uint_eq(all.stretch_count, 3);
	ck_assert_uint_eq(all.request_count, 3 * COMPARED_REQUESTS);
	ck_assert_double_eq(all.units[1], COMPARED_REQUESTS);
	ck_assert_double_eq(sum(&all, "sleep", "nap", COST_COUNT), 2 * COMPARED_REQUESTS);
	const struct cost_class *doze = costs_find(&all, "sleep", "doze", false);
	ck_assert_double_eq(cost_amounts(&all, doze, COST_COUNT)[0], 0);
	ck_assert_double_eq(cost_amounts(&all, doze, COST_COUNT)[1], COMPARED_REQUESTS);
	ck_assert_double_eq(cost_amounts(&all, doze, COST_COUNT)[2], 0);
	costs_free(&all);
}
END_TEST

SUITE()
{
	TEST(classes_have_their_time_and_number);
	TEST(ways_of_requests_add_up_to_their_time);
	TEST(requests_come_in_order_of_their_time);
	TEST(a_mapping_makes_one_of_two);
	TEST(recordings_become_stretches_of_their_own);
}
