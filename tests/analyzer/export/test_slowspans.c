/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a flame graph of slow requests shows time of others, or calls count twice. */
#include "export/slowspans.h"

#include "sketch.h"
#include "suite.h"

static struct sketch sketch;
static struct class_table classes;
static struct slow_spans spans;

/* Calls of `parse`, of 1 to 10 ms, each with another one of half the length within. */
static void setup(void)
{
	sketch_begin(&sketch);
	for (uint32_t thread = 0; thread < 2; thread++)
		sketch_thread(&sketch, "worker", 0, 1000);
	for (int i = 0; i < 10; i++) {
		int at = 20 * i, length = i + 1;
		uint32_t op = sketch_op(&sketch, KIND_OP_USER, "parse", (uint32_t)(i % 2), at,
					at + length);

		sketch.rec
			.ops[sketch_op(&sketch, KIND_OP_USER, "parse", (uint32_t)(i % 2), at,
				       at + length / 2)]
			.parent = op;
		sketch_op(&sketch, KIND_OP_USER, "other", (uint32_t)(i % 2), at, at + 15);
	}
	sketch_end(&sketch);
	class_table_build(&classes, &sketch.rec, NULL);
}

static void teardown(void)
{
	slow_spans_free(&spans);
	class_table_free(&classes);
	sketch_free(&sketch);
}

START_TEST(slow_calls_are_those_from_the_percentile_on)
{
	slow_spans_of_class(&spans, &sketch.rec, &classes, "par*", 80);
	ck_assert_uint_eq(spans.count, 10);
	ck_assert_uint_eq(spans.slow_count, 2);
	ck_assert_uint_eq(spans.slow_from_ns, 9000000);
	ck_assert_uint_eq(spans.longest_ns, 10000000);
}
END_TEST

START_TEST(other_classes_have_none)
{
	slow_spans_of_class(&spans, &sketch.rec, &classes, "pars", 80);
	ck_assert_uint_eq(spans.count, 0);
	struct slow_time time = { 0 };
	const struct walk_slice slice = { .start_ns = 0, .end_ns = 1000000000 };
	slow_spans_add(&spans, &slice, &time);
	ck_assert_uint_eq(time.slow_ns + time.other_ns, 0);
}
END_TEST

/* A slice counts with the part that lies within, and on its own thread alone. */
START_TEST(time_is_that_within)
{
	struct slow_time time = { 0 };
	struct walk_slice slice = { .thread = 0, .start_ns = 162000000, .end_ns = 183000000 };
	slow_spans_of_class(&spans, &sketch.rec, &classes, "parse", 80);
	slow_spans_add(&spans, &slice, &time);
	ck_assert_uint_eq(time.slow_ns, 7000000);
	ck_assert_uint_eq(time.other_ns, 0);
	slice.thread = 1;
	slow_spans_add(&spans, &slice, &time);
	ck_assert_uint_eq(time.slow_ns, 10000000);
	slice.start_ns = 0;
	slice.end_ns = 500000000;
	time = (struct slow_time){ 0 };
	slow_spans_add(&spans, &slice, &time);
	ck_assert_uint_eq(time.slow_ns, 10000000);
	ck_assert_uint_eq(time.other_ns, (2 + 4 + 6 + 8) * 1000000);
}
END_TEST

/* The program that asks waits; what was slow is in the one that answers. */
START_TEST(a_request_has_the_thread_that_answers_too)
{
	struct request requests[] = {
		{ .taken_ns = 10, .start_ns = 0, .end_ns = 10, .thread = 0, .of = 1 },
		{ .taken_ns = 8, .start_ns = 1, .end_ns = 9, .thread = 1, .of = 0 },
		{ .taken_ns = 2, .start_ns = 20, .end_ns = 22, .thread = 0, .of = NO_INDEX },
		{ .taken_ns = 3, .start_ns = 30, .end_ns = 33, .thread = 0, .of = NO_INDEX },
	};
	for (int i = 0; i < 4; i++)
		requests[i].source = i == 1 ? REQUEST_SERVED : REQUEST_ASKED;
	const struct requests all = { .requests = requests,
				      .count = 4,
				      .judged_source = REQUEST_ASKED };
	const struct walk_slice slice = { .thread = 1, .start_ns = 0, .end_ns = 100 };
	struct slow_time time = { 0 };
	slow_spans_of_requests(&spans, &all, 90);
	ck_assert_uint_eq(spans.count, 3);
	ck_assert_uint_eq(spans.slow_count, 1);
	ck_assert_uint_eq(spans.span_count, 4);
	slow_spans_add(&spans, &slice, &time);
	ck_assert_uint_eq(time.slow_ns, 8);
	ck_assert_uint_eq(time.other_ns, 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(slow_calls_are_those_from_the_percentile_on);
	TEST(other_classes_have_none);
	TEST(time_is_that_within);
	TEST(a_request_has_the_thread_that_answers_too);
}
