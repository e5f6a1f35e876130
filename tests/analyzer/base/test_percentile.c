/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, reports would show other percentiles than the sorted list has.
 */
#include <stdlib.h>
#include <string.h>

#include "base/percentile.h"
#include "suite.h"

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* Shapes that are hard for a selection by pivots. */
static uint64_t value_of(int shape, size_t i, size_t count, uint64_t *state)
{
	switch (shape) {
	case 0:
		return next_random(state);
	case 1:
		return i;
	case 2:
		return count - i;
	case 3:
		return 7;
	case 4:
		return next_random(state) % 3;
	case 5:
		return i % 2 ? i : count - i;
	default:
		return i < count / 2 ? i : count - i;
	}
}

START_TEST(percentiles_are_elements_of_the_sorted_list)
{
	static const size_t counts[] = { 1, 2, 3, 4, 5, 7, 10, 19, 20, 21, 100, 1000, 4097 };
	uint64_t values[4097], sorted[4097], state = 1;
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		size_t count = counts[c];
		uint64_t total_ns = 0;
		for (size_t i = 0; i < count; i++)
			total_ns += values[i] = sorted[i] = value_of(_i, i, count, &state);
		qsort(sorted, count, sizeof(*sorted), compare);
		struct percentiles found = percentiles_of(values, count);
		ck_assert_uint_eq(found.p50_ns, sorted[count / 2]);
		ck_assert_uint_eq(found.p95_ns, sorted[count * 95 / 100]);
		ck_assert_uint_eq(found.max_ns, sorted[count - 1]);
		ck_assert_uint_eq(found.total_ns, total_ns);
	}
}
END_TEST

START_TEST(every_rank_is_found)
{
	uint64_t values[50], state = 3;
	for (size_t rank = 0; rank < 50; rank++) {
		for (size_t i = 0; i < 50; i++)
			values[i] = (i * 37 + next_random(&state) * 0) % 50;
		ck_assert_uint_eq(percentile_select(values, 50, rank), rank);
	}
}
END_TEST

START_TEST(an_empty_list_has_only_zeros)
{
	struct percentiles found = percentiles_of(NULL, 0);
	ck_assert_uint_eq(found.p50_ns + found.p95_ns + found.max_ns + found.total_ns, 0);
}
END_TEST

static size_t rank_of(const struct percentile_list *list, double percent)
{
	size_t rank;
	percentile_ranks(list, &percent, 1, &rank);
	return rank;
}

START_TEST(ranks_are_those_of_whole_numbers)
{
	for (size_t count = 1; count < 400; count++)
		for (unsigned percent = 0; percent < 100; percent += 5) {
			const struct percentile_list list = { .count = count };
			ck_assert_uint_eq(rank_of(&list, percent), count * percent / 100);
		}
}
END_TEST

START_TEST(values_count_as_often_as_they_are_there)
{
	const uint32_t times[] = { 0, 3, 0, 1, 6, 0 };
	const struct percentile_list list = { 6, times, NULL };
	ck_assert_uint_eq(rank_of(&list, 0), 1);
	ck_assert_uint_eq(rank_of(&list, 29), 1);
	ck_assert_uint_eq(rank_of(&list, 30), 3);
	ck_assert_uint_eq(rank_of(&list, 40), 4);
	ck_assert_uint_eq(rank_of(&list, 99), 4);
}
END_TEST

/* Half of what was left when a value was cut off is above it, as of those that were not. */
START_TEST(values_that_are_cut_off_are_larger)
{
	bool is_cut[100] = { false };
	const struct percentile_list list = { 100, NULL, is_cut };
	is_cut[0] = true;
	ck_assert_uint_eq(rank_of(&list, 49), 49); /* of 99 */
	is_cut[0] = false;
	is_cut[99] = true;
	ck_assert_uint_eq(rank_of(&list, 50), 50);
	ck_assert_uint_eq(rank_of(&list, 98), 98);
	ck_assert_uint_eq(rank_of(&list, 99), 100); /* not known */
	for (size_t i = 50; i < 100; i++)
		is_cut[i] = true;
	ck_assert_uint_eq(rank_of(&list, 49), 49);
	ck_assert_uint_eq(rank_of(&list, 50), 100);
}
END_TEST

SUITE()
{
	TEST(ranks_are_those_of_whole_numbers);
	TEST(values_count_as_often_as_they_are_there);
	TEST(values_that_are_cut_off_are_larger);
	LOOP(percentiles_are_elements_of_the_sorted_list, 0, 7);
	TEST(every_rank_is_found);
	TEST(an_empty_list_has_only_zeros);
}
