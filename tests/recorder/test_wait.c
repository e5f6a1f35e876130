/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, waits are of the wrong op, or are lost. */
#include "op.h"

#include "calls.h"
#include "suite.h"
#include "opening.h"
#include "switch.h"

#include <pthread.h>
#include <time.h>

START_TEST(a_wait_is_of_the_current_op)
{
	uint64_t op = begin(KIND_IO, 500);
	uint64_t wait = wait_begin(self, REASON_MUTEX, CALL_LOCK, &stack, 1, 0, FRAME(500));
	json_t *event;

	ck_assert_uint_ne(wait, 0);
	ck_assert_uint_eq(op_current(self), op);
	wait_end(self, wait, 77, 0);
	event = event_of(recording_dump(true), "rs", "mutex");
	ck_assert_uint_eq((uint64_t)number_of(event, "p"), op);
	ck_assert_int_eq(number_of(event, "t"), 77);
	ck_assert_int_eq(number_of(event, "i"), 1);
	ck_assert_uint_eq((uint64_t)number_of(event, "a"), (uint64_t)(uintptr_t)&stack);
}
END_TEST

/* It was due when it had lasted for a millisecond; or before it began. */
static const struct {
	clockid_t clock;
	bool is_past;
} timeouts[] = {
	/* 0 */ { CLOCK_MONOTONIC, false },
	/* 1 */ { CLOCK_REALTIME, false },
	/* 2 */ { CLOCK_MONOTONIC, true },
	/* 3 */ { CLOCK_REALTIME, true },
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

START_TEST(one_that_timed_out_says_what_was_asked)
{
	clockid_t clock = timeouts[_i].clock;
	struct timespec until;
	json_t *event;

	clock_gettime(clock, &until);
	until.tv_sec--;
	uint64_t before_ns = now_ns(clock);
	uint64_t wait = wait_begin(self, REASON_COND, CALL_LOCK, &stack, 1, 0, FRAME(500));

	if (!timeouts[_i].is_past) {
		uint64_t due_ns = now_ns(clock) + 1000000;

		while (now_ns(clock) < due_ns)
			;
		until.tv_sec = (time_t)(due_ns / 1000000000);
		until.tv_nsec = (long)(due_ns % 1000000000);
	}
	uint64_t asked_most_ns = now_ns(clock) - before_ns;

	wait_end_late(self, wait, &until);
	event = event_of(recording_dump(true), "rs", "cond");
	ck_assert_int_eq(number_of(event, "to"), 1);
	ck_assert_int_eq(number_of(event, "t"), 0);
	if (timeouts[_i].is_past) {
		ck_assert_int_eq(number_of(event, "rq"), 0);
		return;
	}
	ck_assert_int_ge(number_of(event, "rq"), 900000);
	ck_assert_uint_le((uint64_t)number_of(event, "rq"), asked_most_ns + asked_most_ns / 500);
}
END_TEST

START_TEST(a_short_one_may_be_left_out)
{
	op_brief_ticks = UINT64_MAX;
	wait_end_brief(self, wait_begin(self, REASON_MUTEX, CALL_LOCK, &stack, 1, 0, FRAME(500)), 0,
		       0);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_skipped_brief), 1);
	op_brief_ticks = 0;
	wait_end_brief(self, wait_begin(self, REASON_MUTEX, CALL_LOCK, &stack, 1, 0, FRAME(500)), 0,
		       0);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 1);
}
END_TEST

START_TEST(a_wait_that_never_began_is_counted)
{
	wait_end(self, 12345, 0, 0);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_lost_ends), 1);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
}
END_TEST

/* Recording was turned on while the thread waited. */
START_TEST(a_wait_may_have_begun_before_the_recording)
{
	uint64_t since;

	self_leave(self);
	ck_assert_uint_eq(wait_inside_since(), 0);
	switch_disable();
	ck_assert_uint_eq(wait_inside_since(), 0);
	switch_enable();
	since = wait_inside_since();
	ck_assert_uint_eq(since, opening_begun(recorder_arena));
	self = self_enter();
	wait_end(self,
		 wait_begin_inside(self, since, REASON_COND, CALL_LOCK, &stack, 1, 0, FRAME(500)),
		 0, 0);
	ck_assert_uint_eq(recording_last(self->chunk).start, since);
	self_leave(self);
	ck_assert_uint_eq(wait_inside_since(), 0);
	self = self_enter();
}
END_TEST

/* A thread that nobody has seen before it came out of there. */
static void *come_out(void *unused)
{
	uint64_t since = wait_inside_since();
	struct self *other = self_enter();

	(void)unused;
	ck_assert_uint_eq(since, opening_begun(recorder_arena));
	wait_end(other,
		 wait_begin_inside(other, since, REASON_COND, CALL_LOCK, &stack, 1, 0,
				   __builtin_frame_address(0)),
		 0, 0);
	ck_assert_uint_eq(other->slot->entries[0].record.start, since);
	self_leave(other);
	return NULL;
}

START_TEST(a_thread_is_there_for_as_long_as_it_waits)
{
	pthread_t thread;

	switch_disable();
	switch_enable();
	ck_assert_int_eq(pthread_create(&thread, NULL, come_out, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_wait_is_of_the_current_op);
	EACH(one_that_timed_out_says_what_was_asked, timeouts);
	TEST(a_short_one_may_be_left_out);
	TEST(a_wait_that_never_began_is_counted);
	TEST(a_wait_may_have_begun_before_the_recording);
	TEST(a_thread_is_there_for_as_long_as_it_waits);
}
