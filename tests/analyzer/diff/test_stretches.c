/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, stretches would not have the same work in them, and how much they vary say
 * nothing of chance.
 */
#include "diff/stretches.h"

#include "compared.h"
#include "suite.h"

static struct compared compared;
static struct stretches stretches;

START_TEST(requests_are_cut_into_parts_of_the_same_number)
{
	double units = 0;
	compared_begin(&compared, "nap", 3, 1);
	ck_assert(stretches_has_requests(&compared.analysis));
	stretches_build(&stretches, &compared.analysis, true);
	ck_assert_uint_ge(stretches.count, STRETCHES_LEAST);
	ck_assert_int_eq(stretches.unit, UNIT_REQUEST);
	for (size_t i = 0; i < stretches.count; i++) {
		ck_assert(stretches.units[i] >= 3 && stretches.units[i] <= 4);
		ck_assert(stretches.borders_ns[i] < stretches.borders_ns[i + 1]);
		units += stretches.units[i];
	}
	ck_assert_double_eq(units, COMPARED_REQUESTS);
	ck_assert_uint_eq(stretches.borders_ns[0], 0);
	stretches_free(&stretches);
	compared_end(&compared);
}
END_TEST

START_TEST(a_run_is_cut_by_what_comes_evenly_and_is_whole)
{
	double units = 0;
	compared_begin(&compared, "nap", 3, 1);
	stretches_build(&stretches, &compared.analysis, false);
	ck_assert_int_eq(stretches.unit, UNIT_RUN);
	ck_assert_uint_eq(stretches.count, 64);
	for (size_t i = 0; i < stretches.count; i++)
		units += stretches.units[i];
	ck_assert_double_eq_tol(units, 1, 1e-9);
	ck_assert_uint_eq(stretches.borders_ns[0], 0);
	ck_assert_uint_eq(stretches.borders_ns[stretches.count],
			  10 * COMPARED_REQUESTS * SKETCH_MS);
	stretches_free(&stretches);
	compared_end(&compared);
}
END_TEST

START_TEST(a_moment_is_in_the_stretch_that_it_ends)
{
	uint64_t borders_ns[] = { 10, 20, 40 };
	struct stretches by_hand = { .borders_ns = borders_ns, .count = 2 };
	ck_assert_uint_eq(stretches_at(&by_hand, 9), NO_INDEX);
	ck_assert_uint_eq(stretches_at(&by_hand, 10), 0);
	ck_assert_uint_eq(stretches_at(&by_hand, 20), 0);
	ck_assert_uint_eq(stretches_at(&by_hand, 21), 1);
	ck_assert_uint_eq(stretches_at(&by_hand, 40), 1);
	ck_assert_uint_eq(stretches_at(&by_hand, 41), NO_INDEX);
	by_hand.count = 0;
	ck_assert_uint_eq(stretches_at(&by_hand, 10), NO_INDEX);
}
END_TEST

SUITE()
{
	TEST(requests_are_cut_into_parts_of_the_same_number);
	TEST(a_run_is_cut_by_what_comes_evenly_and_is_whole);
	TEST(a_moment_is_in_the_stretch_that_it_ends);
}
