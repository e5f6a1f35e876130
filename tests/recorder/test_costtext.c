/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a dump says that another share of the time was recorded under a budget. */
#include "costtext.h"

#include "recording.h"
#include "suite.h"

static const uint64_t second = 1000000000;

static void at(uint64_t seconds)
{
	clock_test_ticks = seconds * second;
}

/* A tick is a nanosecond of a clock that moves at the test's word. On from 10 to 13 and from 20 to
 * 21. */
static void begin(void)
{
	setenv("WCPROF_ENABLE", "0", 1);
	recording_begin();
	clock_kind = 0;
	at(10);
	switch_prepare();
	ck_assert_int_eq(switch_enable(), 0);
	at(13);
	switch_disable();
	at(20);
	ck_assert_int_eq(switch_enable(), 0);
	at(21);
	switch_disable();
	recorder_arena->budget.budget = 5000;
	recorder_arena->budget.cost = 70000;
}

static const json_t *process_of_dump(bool commit)
{
	return json_object_get(json_array_get(recording_dump(commit), 0), "process");
}

START_TEST(the_share_is_that_of_the_time_under_the_budget)
{
	const json_t *process;

	begin();
	recorder_arena->budget.begun_ticks = 12 * second;
	at(32);
	process = process_of_dump(false);
	ck_assert_int_eq(number_of(process, "budget_ppm"), 5000);
	ck_assert_int_eq(number_of(process, "budget_cost_ppm"), 70000);
	ck_assert_int_eq(number_of(process, "budget_span_ns"), 20 * (json_int_t)second);
	ck_assert_int_eq(number_of(process, "budget_on_ns"), 2 * (json_int_t)second);
	/* It has ended, whenever the dump comes. */
	recorder_arena->budget.ended_ticks = 22 * second;
	process = process_of_dump(false);
	ck_assert_int_eq(number_of(process, "budget_span_ns"), 10 * (json_int_t)second);
	ck_assert_int_eq(number_of(process, "budget_on_ns"), 2 * (json_int_t)second);
	recording_end();
}
END_TEST

START_TEST(each_dump_tells_of_the_time_since_the_one_before)
{
	const json_t *process;

	begin();
	recorder_arena->budget.begun_ticks = 10 * second;
	at(20);
	(void)process_of_dump(true);
	at(30);
	process = process_of_dump(true);
	ck_assert_int_eq(number_of(process, "budget_span_ns"), 10 * (json_int_t)second);
	ck_assert_int_eq(number_of(process, "budget_on_ns"), (json_int_t)second);
	recorder_arena->budget.ended_ticks = 30 * second;
	at(40);
	process = process_of_dump(true);
	ck_assert_ptr_null(json_object_get(process, "budget_span_ns"));
	recording_end();
}
END_TEST

START_TEST(without_a_budget_nothing_is_said)
{
	const json_t *process;

	begin();
	process = process_of_dump(false);
	ck_assert_ptr_null(json_object_get(process, "budget_ppm"));
	ck_assert_ptr_null(json_object_get(process, "budget_span_ns"));
	ck_assert_ptr_nonnull(json_object_get(process, "own_ns"));
	recording_end();
}
END_TEST

SUITE()
{
	TEST(the_share_is_that_of_the_time_under_the_budget);
	TEST(each_dump_tells_of_the_time_since_the_one_before);
	TEST(without_a_budget_nothing_is_said);
}
