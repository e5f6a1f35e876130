/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, top says that an argument makes requests slow which does not, or hides the one. */
#include <check.h>
#include <stdlib.h>

#include "probe_code.h"
#include "suite.h"
#include "top_values.h"

enum { PARSE = 7, LENGTH = 8, PATH = 9, MS = 1000000 };

static struct top_calls calls;
static struct top_requests requests;
static struct top_value_rows rows;

static void begin(void)
{
	ck_assert(top_calls_begin(&calls));
	requests = (struct top_requests){
		.ring = calloc(TOP_REQUESTS_MAX, sizeof(*requests.ring)),
	};
	ck_assert_ptr_nonnull(requests.ring);
}

static void end(void)
{
	top_values_free(&rows);
	top_calls_end(&calls);
	free(requests.ring);
}

/* A call of `ms`, and what it got. */
static void call(uint32_t thread, uint64_t end_ms, uint64_t ms, uint64_t length, uint32_t path)
{
	const struct record op = { .type = RECORD_OP,
				   .what = KIND_OP_USER,
				   .id = (uint64_t)thread << 32 | (calls.count + 1),
				   .name = PARSE,
				   .start = (end_ms - ms) * MS,
				   .end = end_ms * MS,
				   .fd = 0 };
	struct record value = { .type = RECORD_LINK, .what = LINK_VALUE, .parent = op.id };

	top_calls_add(&calls, &op, thread, 0);
	value.ident = LENGTH;
	value.value = length;
	value.count = PROBE_SIGNED;
	top_calls_add(&calls, &value, thread, 0);
	value.ident = PATH;
	value.value = path;
	value.count = PROBE_STRING;
	top_calls_add(&calls, &value, thread, 0);
}

static void request(uint32_t thread, uint64_t end_ms, uint64_t ms, bool is_slow)
{
	requests.ring[requests.count++] = (struct top_request){
		.thread = thread, .end_ns = end_ms * MS, .taken_ns = ms * MS, .is_slow = is_slow
	};
}

static void range_is(const struct top_range *range, size_t count, int64_t least, int64_t median,
		     int64_t most)
{
	ck_assert_uint_eq(range->count, count);
	ck_assert_int_eq((int64_t)range->least, least);
	ck_assert_int_eq((int64_t)range->median, median);
	ck_assert_int_eq((int64_t)range->most, most);
}

START_TEST(calls_belong_to_the_request_of_their_thread)
{
	begin();
	request(1, 100, 50, true); /* 50 to 100 */
	request(1, 120, 10, false);
	request(2, 100, 50, false);
	call(1, 60, 5, 900, 20);
	call(1, 90, 5, -3, 21);
	call(1, 95, 5, 800, 20);
	call(1, 105, 1, 5000, 22); /* between two requests: in none */
	call(1, 119, 5, 4, 21);
	call(2, 60, 30, 6, 21); /* had begun before its thread's request */
	call(2, 70, 1, 5, 21);
	top_values_build(&rows, &calls, &requests, 0);
	ck_assert(rows.is_of_requests);
	ck_assert_uint_eq(rows.count, 2);
	ck_assert_uint_eq(rows.rows[0].call, PARSE);
	ck_assert_uint_eq(rows.rows[0].name, LENGTH);
	range_is(&rows.rows[0].slow, 3, -3, 800, 900);
	range_is(&rows.rows[0].usual, 2, 4, 5, 5);
	ck_assert_uint_eq(rows.rows[1].name, PATH);
	range_is(&rows.rows[1].slow, 3, 20, 20, 20);
	ck_assert_uint_eq(rows.rows[1].slow.frequent_count, 2);
	range_is(&rows.rows[1].usual, 2, 21, 21, 21);
	end();
}
END_TEST

START_TEST(without_slow_requests_calls_are_told_by_their_own_time)
{
	begin();
	request(1, 1000, 1000, false);
	for (int i = 1; i <= 40; i++)
		call(1, 500, (uint64_t)i, (uint64_t)(i * 10), 20);
	top_values_build(&rows, &calls, &requests, 0);
	ck_assert(!rows.is_of_requests);
	range_is(&rows.rows[0].slow, 2, 390, 400, 400);
	range_is(&rows.rows[0].usual, 38, 10, 200, 380);
	end();
}
END_TEST

START_TEST(real_numbers_are_in_their_order)
{
	static const double numbers[] = { 3, -0.5, -1e9, 0.25, NAN };
	uint64_t bits;

	begin();
	for (int i = 0; i < 5; i++) {
		memcpy(&bits, &numbers[i], sizeof(bits));
		call(1, 500, i == 3 ? 20 : 10, bits, 20);
		calls.values[calls.value_count - 2].type = PROBE_REAL;
	}
	top_values_build(&rows, &calls, &requests, 0);
	ck_assert_double_eq(top_value_real(rows.rows[0].slow.median), 0.25);
	ck_assert_double_eq(top_value_real(rows.rows[0].usual.least), -1e9);
	ck_assert_double_eq(top_value_real(rows.rows[0].usual.median), 3);
	ck_assert(isnan(top_value_real(rows.rows[0].usual.most)));
	end();
}
END_TEST

START_TEST(what_ended_before_is_left_out)
{
	begin();
	call(1, 100, 1, 1, 20);
	top_values_build(&rows, &calls, &requests, UINT64_C(200) * MS);
	ck_assert_uint_eq(rows.count, 0);
	end();
}
END_TEST

SUITE()
{
	TEST(calls_belong_to_the_request_of_their_thread);
	TEST(without_slow_requests_calls_are_told_by_their_own_time);
	TEST(what_ended_before_is_left_out);
	TEST(real_numbers_are_in_their_order);
}
