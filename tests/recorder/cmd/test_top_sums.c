/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, top shows more time of a thread or a lock than has passed, or less. */
#include <check.h>

#include "suite.h"
#include "top_sums.h"

enum { THREAD = 3, LOCK = 0x1000, SECONDS = 10 };
#define S UINT64_C(1000000000)

static const struct top_view view = { .seconds = SECONDS };
static struct top_sums sums;

static uint64_t no_caller(void *context, uint32_t stack)
{
	(void)context;
	(void)stack;
	return 0;
}

static bool no_write(void *context, uint32_t name)
{
	(void)context;
	(void)name;
	return false;
}

static void add(enum record_type type, unsigned what, uint64_t start_ns, uint64_t end_ns)
{
	static const struct top_names names = { .caller = no_caller, .is_write = no_write };
	const struct record record = { .type = (uint8_t)type,
				       .what = (uint8_t)what,
				       .id = (uint64_t)THREAD << 32 | 1,
				       .parent = (uint64_t)THREAD << 32,
				       .value = LOCK,
				       .start = start_ns,
				       .end = end_ns };

	top_sums_add(&sums, &record, &names);
}

static double part(enum top_part of)
{
	return top_part_of(&sums, &sums.threads.entries[0], of, view);
}

START_TEST(a_long_call_is_in_the_seconds_in_which_it_passed)
{
	ck_assert(top_sums_begin(&sums, 100 * S));
	add(RECORD_OP, KIND_IO, 102 * S, 130 * S + S / 2);
	top_sums_tick(&sums, 130 * S + S / 2);
	ck_assert_double_eq(part(TOP_IO), 9.5e9); /* the window began at 121 */
	top_sums_tick(&sums, 135 * S);
	ck_assert_double_eq(part(TOP_IO), 4.5e9);
	top_sums_tick(&sums, 145 * S);
	ck_assert_double_eq(part(TOP_IO), 0);
	top_sums_end(&sums);
}
END_TEST

START_TEST(time_from_before_top_began_is_left_out)
{
	ck_assert(top_sums_begin(&sums, 100 * S + S / 4));
	add(RECORD_OP, KIND_SLEEP, 10 * S, 102 * S);
	ck_assert_double_eq(part(TOP_SLEEP), 1.75e9);
	ck_assert_double_eq(top_view_overlap_ns(&sums, view, 10 * S, 102 * S + S / 2), 2.25e9);
	top_sums_end(&sums);
}
END_TEST

START_TEST(a_wait_for_a_lock_counts_when_it_ends)
{
	struct top_sum waited;

	ck_assert(top_sums_begin(&sums, 100 * S));
	add(RECORD_WAIT, REASON_MUTEX, 105 * S, 125 * S);
	waited = top_sum_of(&sums, &sums.locks.entries[0], TOP_WAITED, view);
	ck_assert_double_eq(waited.count, 1);
	ck_assert_double_eq(waited.ns, 9e9); /* 116 to 125 */
	ck_assert_double_eq(waited.max_ns, 20e9);
	top_sums_tick(&sums, 130 * S);
	ck_assert_double_eq(top_sum_of(&sums, &sums.locks.entries[0], TOP_WAITED, view).ns, 4e9);
	top_sums_end(&sums);
}
END_TEST

START_TEST(time_that_goes_on_is_that_of_the_window)
{
	static const struct {
		uint64_t since_ns;
		double expect_ns;
	} rows[] = {
		/* 0 */ { 0, 9.5e9 },
		/* 1 */ { 120 * S, 9.5e9 },
		/* 2 */ { 129 * S, 1.5e9 },
		/* 3 */ { 130 * S + S / 4, 0.25e9 },
		/* 4 */ { 140 * S, 0 },
	};

	ck_assert(top_sums_begin(&sums, 100 * S));
	top_sums_tick(&sums, 130 * S + S / 2);
	ck_assert_double_eq(top_view_overlap_ns(&sums, view, rows[_i].since_ns, 130 * S + S / 2),
			    rows[_i].expect_ns);
	top_sums_end(&sums);
}
END_TEST

/* An op of one thread, for which another one waits and is seen to run. */
START_TEST(time_for_an_op_is_that_of_the_thread_that_spent_it)
{
	static const struct top_names names = { .caller = no_caller, .is_write = no_write };
	enum { OTHER = THREAD + 1, CLASS = 9 };
	struct record wait = { .type = RECORD_WAIT,
			       .what = REASON_MUTEX,
			       .parent = (uint64_t)THREAD << 32 | 5,
			       .count = OTHER,
			       .start = 101 * S,
			       .end = 102 * S };
	const struct record op = { .type = RECORD_OP,
				   .what = KIND_OP_USER,
				   .flags = RECORD_ANNOTATED,
				   .id = (uint64_t)THREAD << 32 | 5,
				   .name = CLASS,
				   .start = 100 * S,
				   .end = 103 * S };
	struct top_request *list;
	size_t count;

	ck_assert(top_sums_begin(&sums, 100 * S));
	top_requests_mark(&sums.requests, &sums.stacks, CLASS, 100);
	top_sums_add(&sums, &wait, &names);
	ck_assert_uint_eq(sums.threads.entries[0].key[0], OTHER);
	ck_assert_double_eq(part(TOP_LOCK), 1e9);
	top_sums_add(&sums, &op, &names);
	list = top_requests_list(&sums.requests, 0, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(list[0].parts_ns[TOP_LOCK], S);
	free(list);
	top_sums_end(&sums);
}
END_TEST

SUITE()
{
	TEST(a_long_call_is_in_the_seconds_in_which_it_passed);
	TEST(time_from_before_top_began_is_left_out);
	TEST(a_wait_for_a_lock_counts_when_it_ends);
	LOOP(time_that_goes_on_is_that_of_the_window, 0, 5);
	TEST(time_for_an_op_is_that_of_the_thread_that_spent_it);
}
