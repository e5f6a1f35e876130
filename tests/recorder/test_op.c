/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, ops have wrong parents, ends or results, or never end after a longjmp. */
#include "op.h"

#include "recording.h"
#include "roster.h"

/* Frames of imagined calls, on an imagined stack; the higher the further out. */
static char stack[1000];
#define FRAME(n) ((const void *)(stack + (n)))

static struct self *self;

static void setup(void)
{
	recording_begin();
	self = self_enter();
	self->stack_top = stack + sizeof(stack);
}

static void teardown(void)
{
	self_leave(self);
	recording_end();
}

static uint64_t begin(enum kind kind, int frame)
{
	return op_begin(self, kind, CALL_READ, 0, 3, 0, FRAME(frame));
}

START_TEST(an_inner_op_belongs_to_the_outer_one)
{
	uint64_t outer = begin(KIND_OP_USER, 500);
	uint64_t inner = begin(KIND_IO, 400);
	json_t *lines, *event;

	ck_assert_uint_eq(op_current(self), inner);
	op_end(self, inner, OUTCOME_OK, 100);
	ck_assert_uint_eq(op_current(self), outer);
	op_end(self, outer, OUTCOME_OK, 0);
	ck_assert_uint_eq(op_current(self), (1ULL << 32) + 1);
	lines = recording_dump(true);
	event = event_of(lines, "k", "io");
	ck_assert_uint_eq((uint64_t)number_of(event, "p"), outer);
	ck_assert_int_eq(number_of(event, "n"), 100);
	ck_assert_int_eq(number_of(event, "fd"), 3);
	ck_assert_int_eq(number_of(event, "th"), 1);
	ck_assert_str_eq(word_of(event, "o"), "ok");
	ck_assert_str_eq(word_of(event, "w"), "external");
	ck_assert_str_eq(name_of(lines, event, "c"), "read");
	ck_assert_int_le(number_of(event, "s"), number_of(event, "d"));
}
END_TEST

START_TEST(a_failed_io_is_an_error)
{
	uint64_t op = begin(KIND_IO, 500);
	json_t *event;

	op_end(self, op, OUTCOME_OK, (uint64_t)-11);
	event = event_of(recording_dump(true), "k", "io");
	ck_assert_str_eq(word_of(event, "o"), "error");
	ck_assert_int_eq(number_of(event, "err"), 11);
	ck_assert_ptr_null(json_object_get(event, "n"));
}
END_TEST

START_TEST(a_sleep_says_what_was_asked_for)
{
	uint64_t op = op_begin(self, KIND_SLEEP, CALL_READ, 5000, -1, 0, FRAME(500));
	json_t *event;

	op_set_flags(self, op, RECORD_ABSOLUTE);
	op_set_ident(self, op, CALL_LOCK);
	op_end(self, op, OUTCOME_OK, 5000);
	event = event_of(recording_dump(true), "k", "sleep");
	ck_assert_int_eq(number_of(event, "rq"), 5000);
	ck_assert_int_eq(number_of(event, "abs"), 1);
	ck_assert_int_eq(number_of(event, "i"), CALL_LOCK);
	ck_assert_ptr_null(json_object_get(event, "fd"));
}
END_TEST

START_TEST(a_wait_is_of_the_current_op)
{
	uint64_t op = begin(KIND_IO, 500);
	uint64_t wait = wait_begin(self, REASON_MUTEX, CALL_LOCK, &stack, 1, 0, FRAME(500));
	json_t *event;

	ck_assert_uint_ne(wait, 0);
	ck_assert_uint_eq(op_current(self), op);
	wait_end(self, wait, 77, RECORD_TIMED_OUT);
	event = event_of(recording_dump(true), "rs", "mutex");
	ck_assert_uint_eq((uint64_t)number_of(event, "p"), op);
	ck_assert_int_eq(number_of(event, "t"), 77);
	ck_assert_int_eq(number_of(event, "to"), 1);
	ck_assert_int_eq(number_of(event, "i"), 1);
	ck_assert_uint_eq((uint64_t)number_of(event, "a"), (uint64_t)(uintptr_t)&stack);
}
END_TEST

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

START_TEST(short_io_may_be_left_out)
{
	op_min_io_ticks = UINT64_MAX;
	op_end(self, begin(KIND_IO, 400), OUTCOME_OK, 1);
	op_end(self, begin(KIND_OP_USER, 400), OUTCOME_OK, 1);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 1);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_skipped_io), 1);
	ck_assert_uint_eq(snapshot_losses(recorder_arena), 0);
}
END_TEST

START_TEST(links)
{
	uint64_t op = op_reserve(self);
	json_t *lines, *event;

	link_record(self, LINK_NESTED_CLIENT, op, NULL, 1, 0);
	link_record(self, LINK_WAKE, 0, &stack, 2, UINT32_MAX);
	lines = recording_dump(true);
	event = event_of(lines, "lk", "nested_client");
	ck_assert_uint_eq((uint64_t)number_of(event, "p"), op);
	event = event_of(lines, "lk", "wake");
	ck_assert_uint_eq((uint64_t)number_of(event, "p"), (1ULL << 32) + 1);
	ck_assert_int_eq(number_of(event, "n"), UINT32_MAX);
}
END_TEST

START_TEST(an_end_without_a_beginning_is_counted)
{
	op_end(self, 12345, OUTCOME_OK, 0);
	wait_end(self, 12345, 0, 0);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_lost_ends), 2);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("op");
	TCase *tests = tcase_create("op");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, an_inner_op_belongs_to_the_outer_one);
	tcase_add_test(tests, a_failed_io_is_an_error);
	tcase_add_test(tests, a_sleep_says_what_was_asked_for);
	tcase_add_test(tests, a_wait_is_of_the_current_op);
	tcase_add_loop_test(tests, a_call_that_never_returned_is_canceled, 0, 4);
	tcase_add_test(tests, an_op_and_a_wait_may_share_a_frame);
	tcase_add_test(tests, a_hold_outlives_the_frame_of_its_call);
	tcase_add_test(tests, too_many_open_ones_are_counted);
	tcase_add_test(tests, short_io_may_be_left_out);
	tcase_add_test(tests, links);
	tcase_add_test(tests, an_end_without_a_beginning_is_counted);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
