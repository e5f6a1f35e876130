/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, what is open on a thread ends late, never, or for another. */
#include "entries.h"

#include "calls.h"
#include "suite.h"

static const struct {
	const char *what;
	int first, second; /* frames of two calls, the first of which did not return yet */
	enum kind second_kind;
	bool is_abandoned;
} frames[] = {
	/* 0 */ { "the second is called from the first", 500, 400, KIND_IO, false },
	/* 1 */ { "the second is called further out", 400, 500, KIND_IO, true },
	/* 2 */ { "the same place again", 400, 400, KIND_IO, true },
	/* 3 */ { "on another stack", 400, 2000, KIND_IO, false },
};

START_TEST(a_call_that_never_returned_is_canceled)
{
	uint64_t first = begin(KIND_IO, frames[_i].first);
	uint64_t second = begin(frames[_i].second_kind, frames[_i].second);
	json_t *lines;

	ck_assert_uint_ne(second, 0);
	lines = recording_dump(true);
	if (frames[_i].is_abandoned) {
		ck_assert_str_eq(word_of(event_of(lines, "k", "io"), "o"), "canceled");
		ck_assert_uint_eq((uint64_t)number_of(event_of(lines, "k", "io"), "id"), first);
		ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_abandoned), 1);
	} else {
		ck_assert_uint_eq(count_events(lines, "k", "io"), 0);
	}
}
END_TEST

START_TEST(an_op_and_a_wait_may_share_a_frame)
{
	begin(KIND_IO, 400);
	wait_begin(self, REASON_MUTEX, CALL_LOCK, &stack, 0, 0, FRAME(400));
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_abandoned), 0);
	/* The same hook again: both are gone. */
	begin(KIND_IO, 400);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_abandoned), 2);
}
END_TEST

START_TEST(a_hold_outlives_the_frame_of_its_call)
{
	uint64_t hold = begin(KIND_HOLD, 300);
	uint64_t other = begin(KIND_HOLD, 400);
	uint64_t op = begin(KIND_IO, 500);

	op_end(self, op, OUTCOME_OK, 0);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_abandoned), 0);
	/* Released in the order in which they were taken. */
	op_end(self, hold, OUTCOME_OK, 0x1234);
	ck_assert_uint_eq(op_current(self), other);
	op_end(self, other, OUTCOME_OK, 0x5678);
	ck_assert_uint_eq(self->depth, 1);
	ck_assert_uint_eq(count_events(recording_dump(true), "k", "hold"), 2);
}
END_TEST

START_TEST(too_many_open_ones_are_counted)
{
	for (int i = 1; i < SLOT_ENTRIES; i++)
		ck_assert_uint_ne(begin(KIND_IO, 900 - i), 0);
	ck_assert_uint_eq(begin(KIND_IO, 100), 0);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_depth), 1);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	LOOP(a_call_that_never_returned_is_canceled, 0, 4);
	TEST(an_op_and_a_wait_may_share_a_frame);
	TEST(a_hold_outlives_the_frame_of_its_call);
	TEST(too_many_open_ones_are_counted);
}
