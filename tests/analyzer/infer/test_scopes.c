/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if the same locks held make two scopes, or different ones make one. */
#include "infer/scopes.h"

#include "recording/recording.h"
#include "suite.h"

START_TEST(equal_sets_are_one)
{
	struct scopes scopes = { 0 };
	uint32_t ab[] = { 7, 3 }, ba[] = { 3, 7 }, aab[] = { 3, 7, 3 }, a[] = { 3 };
	uint32_t scope = scopes_add(&scopes, 1, ab, 2);

	ck_assert_uint_eq(scopes_add(&scopes, 1, ba, 2), scope);
	ck_assert_uint_eq(scopes_add(&scopes, 1, aab, 3), scope);
	ck_assert_uint_ne(scopes_add(&scopes, 1, a, 1), scope);
	ck_assert_uint_ne(scopes_add(&scopes, 2, ab, 2), scope);
	ck_assert_uint_eq(scopes.scopes[scope].count, 2);
	ck_assert_uint_eq(scopes.classes[scopes.scopes[scope].first], 3);
	scopes_free(&scopes);
}
END_TEST

START_TEST(many_scopes_are_found_again)
{
	struct scopes scopes = { 0 };
	uint32_t numbers[1000];

	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t held[] = { i, i / 2 };

		numbers[i] = scopes_add(&scopes, i % 10, held, 2);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t held[] = { i / 2, i };

		ck_assert_uint_eq(scopes_add(&scopes, i % 10, held, 2), numbers[i]);
	}
	scopes_free(&scopes);
}
END_TEST

START_TEST(a_place_knows_its_scope)
{
	struct scopes scopes = { 0 };
	uint32_t held[] = { 3 };
	uint32_t scope = scopes_add(&scopes, 1, held, 1);
	uint32_t place = scopes_add_place(&scopes, scope, 5);

	ck_assert_uint_eq(scopes.scopes[scope].parent, NO_INDEX);
	ck_assert_uint_eq(scopes.scopes[place].parent, scope);
	ck_assert_uint_eq(scopes_add_place(&scopes, scope, 5), place);
	ck_assert_uint_eq(scopes.scopes[scopes_add_place(&scopes, place, 7)].parent, place);
	ck_assert_uint_eq(scopes.classes[scopes.scopes[place].first], 3);
	scopes_free(&scopes);
}
END_TEST

START_TEST(a_context_is_a_part_and_its_places_are_in_it)
{
	struct scopes scopes = { 0 };
	uint32_t scope = scopes_add(&scopes, 1, NULL, 0);
	uint32_t within = scopes_add_context(&scopes, scope, 4);
	uint32_t place = scopes_add_place(&scopes, within, 5);

	ck_assert_uint_eq(scopes_add_context(&scopes, scope, 0), scope);
	ck_assert_uint_ne(within, scope);
	ck_assert_uint_eq(scopes.scopes[within].parent, scope);
	ck_assert_uint_eq(scopes.scopes[place].context, 4);
	ck_assert_uint_eq(scopes.scopes[place].parent, within);
	ck_assert_uint_ne(scopes_add_place(&scopes, scope, 5), place);
	ck_assert_uint_eq(scopes_add_context(&scopes, scope, 4), within);
	scopes_free(&scopes);
}
END_TEST

SUITE()
{
	TEST(a_context_is_a_part_and_its_places_are_in_it);
	TEST(equal_sets_are_one);
	TEST(many_scopes_are_found_again);
	TEST(a_place_knows_its_scope);
}
