/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if an actor had its turn before one that is earlier. */
#include "replay/agenda.h"

#include "suite.h"

enum { ACTORS = 50 };

/* Some numbers, the same each time. */
static uint64_t number_of(uint32_t i)
{
	return i * 2654435761u % 17;
}

START_TEST(the_earliest_turn_is_first)
{
	struct agenda agenda;
	struct turn last = { 0 };

	agenda_make(&agenda, ACTORS);
	for (uint32_t i = 0; i < ACTORS; i++) {
		agenda_add(&agenda, i, number_of(i));
		ck_assert(agenda_is_valid(&agenda));
	}
	for (uint32_t i = 0; i < ACTORS; i++) {
		uint64_t next_ns = agenda_next_ns(&agenda);
		struct turn turn = agenda_take(&agenda);

		ck_assert(agenda_is_valid(&agenda));
		ck_assert_uint_eq(turn.at_ns, next_ns);
		ck_assert_uint_eq(turn.at_ns, number_of(turn.actor));
		/* of equal ones, the one that was added first */
		ck_assert(!i || turn.at_ns > last.at_ns ||
			  (turn.at_ns == last.at_ns && turn.actor > last.actor));
		last = turn;
	}
	ck_assert_uint_eq(agenda_next_ns(&agenda), UINT64_MAX);
	agenda_free(&agenda);
}
END_TEST

START_TEST(turns_that_are_added_meanwhile_are_in_order_too)
{
	struct agenda agenda;

	agenda_make(&agenda, 3);
	agenda_add(&agenda, 0, 5);
	agenda_add(&agenda, 1, 3);
	ck_assert_uint_eq(agenda_take(&agenda).actor, 1);
	agenda_add(&agenda, 1, 5);
	agenda_add(&agenda, 2, 4);
	ck_assert_uint_eq(agenda_take(&agenda).actor, 2);
	ck_assert_uint_eq(agenda_take(&agenda).actor, 0);
	agenda_clear(&agenda);
	ck_assert_uint_eq(agenda_next_ns(&agenda), UINT64_MAX);
	agenda_free(&agenda);
}
END_TEST

START_TEST(a_turn_can_be_taken_back)
{
	for (uint32_t gone = 0; gone < ACTORS; gone++) {
		struct agenda agenda;
		struct turn last = { 0 };

		agenda_make(&agenda, ACTORS);
		for (uint32_t i = 0; i < ACTORS; i++)
			agenda_add(&agenda, i, number_of(i));
		agenda_remove(&agenda, gone);
		ck_assert(agenda_is_valid(&agenda));
		for (uint32_t i = 1; i < ACTORS; i++) {
			struct turn turn = agenda_take(&agenda);

			ck_assert(turn.actor != gone && turn.at_ns >= last.at_ns);
			last = turn;
		}
		ck_assert_uint_eq(agenda_next_ns(&agenda), UINT64_MAX);
		agenda_free(&agenda);
	}
}
END_TEST

SUITE()
{
	TEST(the_earliest_turn_is_first);
	TEST(a_turn_can_be_taken_back);
	TEST(turns_that_are_added_meanwhile_are_in_order_too);
}
