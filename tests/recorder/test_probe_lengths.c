/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, calls of another share than the one that was asked for are taken for slow ones. */
#include "probe_lengths.h"

#include <string.h>

#include "suite.h"

static struct probe_lengths lengths;

/* In an order of its own: 0 to count - 1, each once. */
static void add_ramp(uint64_t count, uint64_t scale)
{
	for (uint64_t i = 0; i < count; i++)
		(void)probe_lengths_add(&lengths, i * 7919 % count * scale);
}

static const struct {
	uint64_t count, scale;
	uint32_t permille;
} ramps[] = {
	{ 1000, 1, 950 },  { 1000, 1, 500 },     { 1000, 1, 990 },
	{ 10007, 3, 999 }, { 10007, 1000, 900 }, { 100, UINT64_C(1) << 40, 950 },
	{ 10007, 1, 10 },
};

START_TEST(a_share_is_shorter)
{
	double wanted = (double)ramps[_i].permille / 1000 * (double)ramps[_i].count;

	add_ramp(ramps[_i].count, ramps[_i].scale);
	wanted *= (double)ramps[_i].scale;
	/* A bucket is a sixteenth wide, and one call of a hundred is one. */
	ck_assert_double_eq_tol((double)probe_lengths_at(&lengths, ramps[_i].permille), wanted,
				wanted * 0.03 + (double)ramps[_i].scale);
}

START_TEST(few_calls_are_no_estimate)
{
	for (int i = 0; i < LENGTHS_LEAST - 1; i++)
		(void)probe_lengths_add(&lengths, 1000);
	ck_assert_uint_eq(probe_lengths_at(&lengths, 950), 0);
	ck_assert(probe_lengths_add(&lengths, 1000));
	ck_assert_uint_ne(probe_lengths_at(&lengths, 950), 0);
}

/* Calls that all take the same time are none of them slow, or all. */
START_TEST(equal_calls_are_in_their_bucket)
{
	for (int i = 0; i < 5000; i++)
		(void)probe_lengths_add(&lengths, 1000);
	ck_assert_uint_ge(probe_lengths_at(&lengths, 950), 992);
	ck_assert_uint_le(probe_lengths_at(&lengths, 950), 1024);
}

START_TEST(what_was_long_ago_is_forgotten)
{
	for (int i = 0; i < LENGTHS_MOST; i++)
		if (probe_lengths_add(&lengths, 1000000))
			(void)probe_lengths_at(&lengths, 950);
	for (int i = 0; i < 8 * LENGTHS_MOST; i++)
		if (probe_lengths_add(&lengths, 1000))
			(void)probe_lengths_at(&lengths, 950);
	ck_assert_uint_lt(probe_lengths_at(&lengths, 950), 1100);
}

START_TEST(all_lengths_have_a_place)
{
	for (int i = 0; i < 64; i++) {
		(void)probe_lengths_add(&lengths, UINT64_C(1) << i);
		(void)probe_lengths_add(&lengths, UINT64_MAX >> i);
	}
	ck_assert_uint_eq(lengths.total, 128);
	ck_assert_uint_ge(probe_lengths_at(&lengths, 999), UINT64_C(1) << 63);
}

SUITE()
{
	LOOP(a_share_is_shorter, 0, sizeof(ramps) / sizeof(ramps[0]));
	TEST(few_calls_are_no_estimate);
	TEST(equal_calls_are_in_their_bucket);
	TEST(what_was_long_ago_is_forgotten);
	TEST(all_lengths_have_a_place);
}
