/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, it is not known when a thread last asked for the time, or asking costs records. */
#include "clockreads.h"

#include "calls.h"
#include "clock.h"
#include "stack.h"
#include "suite.h"

static json_t *call_of(json_t *lines, int number)
{
	size_t i;
	json_t *line, *found = NULL;

	json_array_foreach(lines, i, line)
	{
		const char *word = json_string_value(json_object_get(line, "lk"));
		if (word && strcmp(word, "clock") == 0 && number_of(line, "n") == number) {
			ck_assert_ptr_null(found);
			found = line;
		}
	}
	return found;
}

static void ask(const char *pc, int times)
{
	self_leave(self);
	for (int i = 0; i < times; i++)
		clock_read_note(pc);
	self = self_enter();
}

START_TEST(the_first_and_the_last_two_are_written)
{
	json_t *lines;

	stack_set_depth(1);
	ask(stack, 7);
	ck_assert_ptr_null(call_of(recording_dump(true), 7)); /* the thread goes on */
	self_leave(self);
	clock_reads_end();
	self = self_enter();
	lines = recording_dump(true);
	ck_assert_int_le(number_of(call_of(lines, 1), "s"), number_of(call_of(lines, 6), "s"));
	ck_assert_int_le(number_of(call_of(lines, 6), "s"), number_of(call_of(lines, 7), "s"));
	ck_assert_ptr_null(call_of(lines, 5));
}
END_TEST

START_TEST(the_place_not_seen_for_longest_is_forgotten)
{
	json_t *lines;

	stack_set_depth(1);
	for (int place = 0; place <= CLOCK_PLACES; place++)
		ask(stack + place, 10 + 10 * place);
	self_leave(self);
	clock_reads_end();
	self = self_enter();
	lines = recording_dump(true);
	ck_assert_ptr_null(call_of(lines, 10));
	for (int place = 1; place <= CLOCK_PLACES; place++)
		ck_assert_ptr_nonnull(call_of(lines, 10 + 10 * place));
}
END_TEST

START_TEST(inside_the_recorder_nothing_is_noted)
{
	clock_read_note(stack);
	ck_assert_uint_eq(self->slot->clock_places[0].count, 0);
	ask(stack, 1);
	ck_assert_uint_eq(self->slot->clock_places[0].count, 1);
}
END_TEST

START_TEST(what_was_asked_before_the_thread_was_known_is_not_lost)
{
	struct slot *slot = self->slot;
	uint64_t ticks = clock_now_ticks();

	self->slot = NULL;
	ask(stack + 1, 1);
	ck_assert_uint_eq(slot->clock_places[0].count, 0);
	self->slot = slot;
	ask(stack, 1);
	ck_assert_uint_eq(slot->clock_places[0].count, 1);
	ck_assert_uint_ge(slot->clock_places[0].last_ticks, ticks);
	ck_assert_uint_eq(slot->clock_places[1].count, 1);
	ck_assert_uint_ge(slot->clock_places[1].last_ticks, slot->clock_places[0].last_ticks);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(what_was_asked_before_the_thread_was_known_is_not_lost);
	TEST(the_first_and_the_last_two_are_written);
	TEST(the_place_not_seen_for_longest_is_forgotten);
	TEST(inside_the_recorder_nothing_is_noted);
}
