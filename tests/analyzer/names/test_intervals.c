/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an address is given to the wrong function, or to none, where ranges nest or
 * overlap. */
#include <stdlib.h>

#include "names/intervals.h"
#include "recording/recording.h"
#include "suite.h"

static const struct {
	uint64_t start, end;
} ranges[] = {
	/* 0 */ { 0, 100 },
	/* 1 */ { 10, 20 },
	/* 2 */ { 10, 15 },
	/* 3 */ { 10, 15 }, /* equal to the one before: inner, because later */
	/* 4 */ { 40, 60 },
	/* 5 */ { 50, 70 }, /* overlaps the one before without nesting */
	/* 6 */ { 62, 64 },
	/* 7 */ { 200, 201 },
	/* 8 */ { 300, 300 }, /* empty: as if not there */
};

static const struct {
	uint64_t address;
	uint32_t value;
	uint32_t depth;
} cases[] = {
	/*  0 */ { 0, 0, 1 },          /*  1 */ { 9, 0, 1 },
	/*  2 */ { 10, 3, 4 },         /*  3 */ { 14, 3, 4 },
	/*  4 */ { 15, 1, 2 },         /*  5 */ { 20, 0, 1 },
	/*  6 */ { 45, 4, 2 },         /*  7 */ { 55, 5, 3 },
	/*  8 */ { 60, 5, 2 },         /*  9 */ { 63, 6, 3 },
	/* 10 */ { 65, 5, 2 },         /* 11 */ { 99, 0, 1 },
	/* 12 */ { 100, NO_INDEX, 0 }, /* 13 */ { 200, 7, 1 },
	/* 14 */ { 201, NO_INDEX, 0 },
	/* 15 */ { 300, NO_INDEX, 0 }, /* 16 */ { UINT64_MAX, NO_INDEX, 0 },
};

static void fill(struct intervals *intervals)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		intervals_add(intervals, ranges[i].start, ranges[i].end, (uint32_t)i);
	intervals_index(intervals);
}

START_TEST(finds_the_innermost)
{
	struct intervals intervals = { 0 };
	uint32_t row, depth = 0;

	fill(&intervals);
	row = intervals_find(&intervals, cases[_i].address);
	ck_assert_uint_eq(row == NO_INDEX ? NO_INDEX : intervals.rows[row].value, cases[_i].value);
	for (; row != NO_INDEX; row = intervals_outer(&intervals, row, cases[_i].address))
		depth++;
	ck_assert_uint_eq(depth, cases[_i].depth);
	intervals_free(&intervals);
}
END_TEST

START_TEST(agrees_with_a_search_of_all)
{
	struct intervals intervals = { 0 };

	srand(1);
	for (uint32_t i = 0; i < 500; i++) {
		uint64_t start = (uint64_t)(rand() % 1000);

		intervals_add(&intervals, start, start + (uint64_t)(rand() % 60), i);
	}
	intervals_index(&intervals);
	for (uint64_t address = 0; address < 1100; address++) {
		uint32_t expected = 0, found = 0;

		for (size_t i = 0; i < intervals.count; i++)
			expected += intervals.rows[i].start <= address &&
				    address < intervals.rows[i].end;
		for (uint32_t row = intervals_find(&intervals, address); row != NO_INDEX;
		     row = intervals_outer(&intervals, row, address))
			found++;
		ck_assert_uint_eq(found, expected);
	}
	intervals_free(&intervals);
}
END_TEST

START_TEST(nothing_contains_nothing)
{
	struct intervals intervals = { 0 };

	intervals_index(&intervals);
	ck_assert_uint_eq(intervals_find(&intervals, 1), NO_INDEX);
	intervals_free(&intervals);
}
END_TEST

SUITE()
{
	EACH(finds_the_innermost, cases);
	TEST(agrees_with_a_search_of_all);
	TEST(nothing_contains_nothing);
}
