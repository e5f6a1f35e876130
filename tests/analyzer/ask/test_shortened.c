/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, noise of a few slow requests would be sold as a saving, or a saving be hidden.
 */
#include "ask/shortened.h"

#include "random.h"
#include "suite.h"

#include <math.h>

enum { REQUESTS_MAX = 2000 };

struct made {
	struct request_time before[REQUESTS_MAX], after[REQUESTS_MAX];
	uint32_t order[REQUESTS_MAX];
	struct shortened shortened[REQUEST_FIGURES];
};

static double waiting(uint64_t *state)
{
	return -log((1 + (double)random_number(state, 1000000)) / 1000001);
}

/* Each takes 1 ms and a random wait of 1 ms in the mean; the wait is `left` of that afterwards. */
static void make(struct made *made, size_t count, double left, uint64_t seed)
{
	uint64_t state = seed;
	for (size_t i = 0; i < count; i++) {
		double wait_ns = 1e6 * waiting(&state);
		made->order[i] = (uint32_t)i;
		made->before[i] = (struct request_time){ 10 * i, (uint64_t)(1e6 + wait_ns), false };
		made->after[i] =
			(struct request_time){ 9 * i, (uint64_t)(1e6 + left * wait_ns), false };
	}
}

static void find(struct made *made, size_t count)
{
	shortened_find(made->shortened, made->before, made->after, made->order, count);
}

START_TEST(nothing_changed_is_nothing_saved)
{
	struct made made;
	make(&made, 1000, 1, 3);
	find(&made, 1000);
	for (size_t i = 0; i < REQUEST_FIGURES; i++) {
		ck_assert(made.shortened[i].is_known);
		ck_assert_double_eq(made.shortened[i].saved_ns, 0);
		ck_assert_double_eq(made.shortened[i].least_ns, 0);
		ck_assert_double_eq(made.shortened[i].most_ns, 0);
	}
}
END_TEST

/* The waits' quantiles are known. */
START_TEST(ranges_have_the_truth)
{
	const double truth_ns[] = { 0.5e6, 0.5e6 * log(2), 0.5e6 * log(20), 0.5e6 * log(100) };
	int held[REQUEST_FIGURES] = { 0 };
	struct made made;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		make(&made, 1000, 0.5, seed);
		find(&made, 1000);
		for (size_t i = 0; i < REQUEST_FIGURES; i++) {
			const struct shortened *found = &made.shortened[i];
			ck_assert(found->is_known);
			ck_assert_double_le(found->least_ns, found->saved_ns);
			ck_assert_double_ge(found->most_ns, found->saved_ns);
			held[i] += found->least_ns <= truth_ns[i] && truth_ns[i] <= found->most_ns;
		}
	}
	for (size_t i = 0; i < REQUEST_FIGURES; i++) {
		ck_assert_int_ge(held[i], 180);
		ck_assert_int_lt(held[i], 200);
	}
}
END_TEST

/* A slow moment of ten neighbours happened once. */
START_TEST(requests_that_are_slow_together_make_it_less_sure)
{
	struct made alone, together;
	double wide = 0, narrow = 0;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		make(&alone, 1000, 0.5, seed);
		make(&together, 1000, 0.5, seed);
		for (size_t i = 0; i < 1000; i++) {
			together.before[i].taken_ns = together.before[i / 10 * 10].taken_ns;
			together.after[i].taken_ns = together.after[i / 10 * 10].taken_ns;
		}
		find(&alone, 1000);
		find(&together, 1000);
		narrow += alone.shortened[REQUEST_P95].most_ns -
			  alone.shortened[REQUEST_P95].least_ns;
		wide += together.shortened[REQUEST_P95].most_ns -
			together.shortened[REQUEST_P95].least_ns;
	}
	ck_assert_double_gt(wide, 1.7 * narrow);
}
END_TEST

START_TEST(few_requests_have_no_p99)
{
	struct made made;
	ck_assert_uint_eq(shortened_least_count(REQUEST_P99), 401);
	ck_assert_uint_eq(shortened_least_count(REQUEST_P95), 81);
	ck_assert_uint_lt(shortened_least_count(REQUEST_P50), 10);
	make(&made, 380, 0.5, 1);
	find(&made, 380);
	ck_assert(!made.shortened[REQUEST_P99].is_known);
	ck_assert(made.shortened[REQUEST_P95].is_known);
	find(&made, 1);
	for (size_t i = 0; i < REQUEST_FIGURES; i++)
		ck_assert(!made.shortened[i].is_known);
}
END_TEST

START_TEST(unfinished_ones_may_be_longer_than_all)
{
	struct made made;
	make(&made, 1000, 0.5, 1);
	for (size_t i = 0; i < 12; i++) {
		made.after[80 * i].is_unfinished = true;
		made.after[80 * i].taken_ns = 1;
	}
	find(&made, 1000); /* they had hardly begun */
	ck_assert(made.shortened[REQUEST_P99].is_known);
	for (size_t i = 0; i < 12; i++)
		made.after[80 * i].taken_ns = 1000000000;
	find(&made, 1000);
	ck_assert(!made.shortened[REQUEST_P99].is_known);
	ck_assert(made.shortened[REQUEST_P95].is_known);
}
END_TEST

SUITE()
{
	TEST(nothing_changed_is_nothing_saved);
	TEST(ranges_have_the_truth);
	TEST(requests_that_are_slow_together_make_it_less_sure);
	TEST(few_requests_have_no_p99);
	TEST(unfinished_ones_may_be_longer_than_all);
}
