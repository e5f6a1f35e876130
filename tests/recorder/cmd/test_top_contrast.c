/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, top blames slow calls on time of other calls, or of other threads. */
#include <check.h>

#include "suite.h"
#include "top_contrast.h"

enum { THREAD = 1, OTHER_THREAD = 2, PARSE = 7, REBUILD = 8, READ = 20, STACK = 5, SLOW_STACK = 6 };
enum { BEGIN_S = 100, MS = 1000000 };
#define S UINT64_C(1000000000)

static struct top_sums sums;
static struct top_contrast contrast;

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

/* From then on, in milliseconds. */
static void add(uint32_t thread, struct record record, uint64_t start_ms, uint64_t ms)
{
	static const struct top_names names = { .caller = no_caller, .is_write = no_write };

	record.type = RECORD_OP;
	record.id = (uint64_t)thread << 32 | 1;
	record.fd = -1;
	record.start = BEGIN_S * S + start_ms * MS;
	record.end = record.start + ms * MS;
	top_sums_add(&sums, &record, &names);
}

static void call(uint32_t thread, uint32_t name, uint64_t start_ms, uint64_t ms)
{
	add(thread, (struct record){ .what = KIND_OP_USER, .name = name }, start_ms, ms);
}

static void io(uint32_t thread, uint32_t stack, uint64_t start_ms, uint64_t ms)
{
	add(thread, (struct record){ .what = KIND_IO, .name = READ, .stack = stack }, start_ms, ms);
}

/* A thread has run for so long since the one before, which the first one has none of. */
static void sample(uint32_t thread, uint32_t stack, uint64_t at_ms, uint64_t cpu_ms)
{
	static const struct top_names names = { .caller = no_caller, .is_write = no_write };
	const struct record record = { .type = RECORD_SAMPLE,
				       .name = thread,
				       .stack = stack,
				       .start = BEGIN_S * S + at_ms * MS,
				       .end = BEGIN_S * S + at_ms * MS,
				       .value = cpu_ms * MS };

	top_sums_add(&sums, &record, &names);
}

/* The first one begins to keep what threads do. */
static void begin(void)
{
	ck_assert(top_sums_begin(&sums, BEGIN_S * S));
	call(OTHER_THREAD, REBUILD, 0, 1);
}

static void end(void)
{
	top_contrast_free(&contrast);
	top_sums_end(&sums);
}

static void compare(uint64_t since_ms)
{
	top_contrast_free(&contrast);
	contrast = top_contrast_calls(&sums, PARSE, BEGIN_S * S + since_ms * MS);
}

/* In milliseconds, in all. */
static double stack_ms(uint32_t stack, enum top_share share)
{
	for (size_t i = 0; i < sums.stacks.count; i++)
		if (sums.stacks.stacks[i].stack == stack)
			return contrast.stack_ns[i][share] / MS;
	return 0;
}

static void are(enum top_share share, unsigned count, unsigned ms)
{
	ck_assert_double_eq(contrast.count[share], count);
	ck_assert_double_eq(contrast.taken_ns[share] / MS, ms);
}

/* A hundred calls: 95 of 4 ms, with reads of 1 ms within and without, and 5 of 24 ms. */
static void add_calls(void)
{
	for (unsigned i = 0; i < 100; i++) {
		bool is_slow = i % 20 == 7;
		uint64_t at = 50 + (uint64_t)i * 50;

		io(THREAD, STACK, at - 2, 1);
		io(THREAD, STACK, at + 1, 1);
		io(OTHER_THREAD, STACK, at + 1, 2);
		if (is_slow)
			io(THREAD, SLOW_STACK, at + 2, 20);
		call(THREAD, PARSE, at, is_slow ? 24 : 4);
		io(THREAD, STACK, at + 30, 1);
	}
}

START_TEST(time_in_slow_calls_is_beside_that_in_the_others)
{
	begin();
	add_calls();
	compare(0);
	are(TOP_OF_ALL, 100, 500);
	are(TOP_OF_SLOW, 5, 120);
	are(TOP_OF_REST, 95, 380);
	ck_assert_double_eq(stack_ms(SLOW_STACK, TOP_OF_SLOW), 100);
	ck_assert_double_eq(stack_ms(SLOW_STACK, TOP_OF_REST), 0);
	ck_assert_double_eq(stack_ms(STACK, TOP_OF_SLOW), 5);
	ck_assert_double_eq(stack_ms(STACK, TOP_OF_REST), 95);
	ck_assert_double_eq(stack_ms(STACK, TOP_OF_ALL), 100);
	ck_assert_double_eq(top_contrast_mean_ns(&contrast, TOP_OF_SLOW), 24 * MS);
	ck_assert_double_eq(top_contrast_stack_ns(&contrast, 0, TOP_OF_REST), MS);
	end();
}
END_TEST

START_TEST(a_call_within_another_of_its_name_is_a_part_of_that)
{
	begin();
	for (unsigned i = 0; i < 60; i++) {
		uint64_t at = 10 + (uint64_t)i * 50, ms = i == 30 ? 30 : 10;

		io(THREAD, STACK, at + 3, 1);
		call(THREAD, PARSE, at + 2, 3);
		call(OTHER_THREAD, PARSE, at + 2, 4);
		call(THREAD, REBUILD, at + 1, 7);
		call(THREAD, PARSE, at, ms);
	}
	compare(0);
	are(TOP_OF_ALL, 120, 60 * 14 + 20);
	are(TOP_OF_REST, 119, 60 * 14 - 10);
	ck_assert_double_eq(stack_ms(STACK, TOP_OF_SLOW), 1);
	ck_assert_double_eq(stack_ms(STACK, TOP_OF_REST), 59);
	end();
}
END_TEST

START_TEST(of_few_calls_none_is_slow)
{
	begin();
	for (unsigned i = 0; i < TOP_ENOUGH; i++) {
		compare(0);
		are(TOP_OF_SLOW, 0, 0);
		are(TOP_OF_REST, i, i * (i + 1) / 2);
		call(THREAD, PARSE, 10 + (uint64_t)i * 100, i + 1);
	}
	compare(0);
	are(TOP_OF_SLOW, 2, 99);
	end();
}
END_TEST

START_TEST(calls_are_those_of_the_window)
{
	begin();
	add_calls();
	compare(50 + 50 * 50); /* the second half */
	are(TOP_OF_ALL, 50, 240);
	are(TOP_OF_SLOW, 2, 48);
	ck_assert_double_eq(stack_ms(SLOW_STACK, TOP_OF_ALL), 40);
	end();
}
END_TEST

START_TEST(calls_of_which_not_all_is_known_are_left_out)
{
	ck_assert(top_sums_begin(&sums, BEGIN_S * S + 20 * MS));
	call(THREAD, PARSE, 0, 30); /* had begun before */
	io(THREAD, STACK, 61, 2);
	call(THREAD, PARSE, 60, 10);
	compare(0);
	are(TOP_OF_ALL, 1, 10);
	ck_assert_double_eq(stack_ms(STACK, TOP_OF_ALL), 2);
	io(THREAD, STACK, 101, 2);
	for (unsigned i = 0; i < TOP_PIECES_MAX - 1; i++)
		io(OTHER_THREAD, STACK, 105, 1);
	call(THREAD, PARSE, 100, 10);
	compare(0);
	are(TOP_OF_ALL, 1, 10); /* the one of 60 has gone */
	ck_assert_double_eq(stack_ms(STACK, TOP_OF_ALL), 2);
	io(OTHER_THREAD, STACK, 111, 1);
	compare(0);
	are(TOP_OF_ALL, 0, 0);
	end();
}
END_TEST

START_TEST(a_sample_within_a_call_that_was_recorded_counts_once)
{
	begin();
	io(THREAD, STACK, 5, 1);
	sample(THREAD, 50, 8, 1);
	sample(THREAD, 51, 12, 3);
	sample(THREAD, 52, 15, 4); /* in the kernel */
	io(THREAD, STACK, 14, 2);
	sample(THREAD, 51, 17, 6);
	call(THREAD, PARSE, 10, 10);
	compare(0);
	ck_assert_double_eq(stack_ms(51, TOP_OF_ALL), 4);
	ck_assert_double_eq(stack_ms(52, TOP_OF_ALL), 0);
	ck_assert_double_eq(stack_ms(STACK, TOP_OF_ALL), 2);
	end();
}
END_TEST

START_TEST(time_is_known_from_the_first_call_on)
{
	ck_assert(top_sums_begin(&sums, BEGIN_S * S));
	io(THREAD, STACK, 11, 2);
	call(THREAD, PARSE, 10, 10);
	compare(0);
	are(TOP_OF_ALL, 0, 0);
	io(THREAD, STACK, 21, 2);
	call(THREAD, PARSE, 20, 10);
	compare(0);
	are(TOP_OF_ALL, 1, 10);
	ck_assert_double_eq(stack_ms(STACK, TOP_OF_ALL), 2);
	end();
}
END_TEST

START_TEST(stacks_that_got_other_numbers_are_not_mixed_up)
{
	begin();
	for (uint32_t i = 0; i < TOP_STACKS_MAX; i++)
		io(OTHER_THREAD, 100 + i, 2, 1);
	io(THREAD, 101, 59001, 2);
	call(THREAD, PARSE, 59000, 10);
	compare(0);
	are(TOP_OF_ALL, 1, 10);
	ck_assert_double_eq(stack_ms(101, TOP_OF_ALL), 2);
	io(OTHER_THREAD, 102, 60000, 1); /* those of the first second go */
	ck_assert_uint_lt(sums.stacks.count, 10);
	compare(0);
	are(TOP_OF_ALL, 0, 0);
	io(THREAD, 101, 60011, 3);
	call(THREAD, PARSE, 60010, 10);
	compare(0);
	are(TOP_OF_ALL, 1, 10);
	ck_assert_double_eq(stack_ms(101, TOP_OF_ALL), 3);
	end();
}
END_TEST

START_TEST(requests_are_those_of_the_view)
{
	const struct top_view view = { .seconds = 10 };
	uint64_t second = BEGIN_S % TOP_SECONDS;

	begin();
	io(THREAD, STACK, 10, 1);
	sums.requests.by_second[TOP_OF_SLOW][second] = 2;
	sums.requests.taken_ns[TOP_OF_SLOW][second] = 60 * MS;
	top_stacks_add(&sums.stacks, 1, TOP_OF_SLOW, BEGIN_S, 40 * MS);
	contrast = top_contrast_requests(&sums, view);
	are(TOP_OF_SLOW, 2, 60);
	ck_assert_double_eq(stack_ms(STACK, TOP_OF_SLOW), 40);
	ck_assert_double_eq(top_contrast_stack_ns(&contrast, 0, TOP_OF_SLOW), 20 * MS);
	ck_assert_double_eq(top_contrast_mean_ns(&contrast, TOP_OF_REST), 0);
	end();
}
END_TEST

SUITE()
{
	TEST(time_in_slow_calls_is_beside_that_in_the_others);
	TEST(a_call_within_another_of_its_name_is_a_part_of_that);
	TEST(of_few_calls_none_is_slow);
	TEST(calls_are_those_of_the_window);
	TEST(calls_of_which_not_all_is_known_are_left_out);
	TEST(a_sample_within_a_call_that_was_recorded_counts_once);
	TEST(time_is_known_from_the_first_call_on);
	TEST(stacks_that_got_other_numbers_are_not_mixed_up);
	TEST(requests_are_those_of_the_view);
}
