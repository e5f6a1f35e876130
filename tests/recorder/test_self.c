/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a signal handler can break a record, a thread stops recording for ever, or
 * errno changes. */
#include "self.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>

#include "recording.h"
#include "roster.h"
#include "suite.h"

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

/* As a signal handler does: further down the stack. */
__attribute__((noinline)) static struct self *enter_deeper(void)
{
	volatile char deeper[64];
	struct self *self = self_enter();

	deeper[0] = 0; /* after the call: not a tail call, which would come from the same frame */
	return deeper[0] ? NULL : self;
}

START_TEST(inside_is_inside_once)
{
	struct self *self = self_enter();

	ck_assert_ptr_nonnull(self);
	ck_assert_ptr_null(enter_deeper());
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_nested), 1);
	self_leave(NULL);
	self_leave(self);
	ck_assert_ptr_eq(self_enter(), self);
	self_leave(self);
}
END_TEST

START_TEST(errno_is_the_programs)
{
	struct self *self;

	errno = 1234;
	self = self_enter();
	errno = 1;
	self_leave(self);
	ck_assert_int_eq(errno, 1234);
}
END_TEST

START_TEST(off_is_off)
{
	switch_disable();
	ck_assert_ptr_null(self_enter());
	switch_enable();
	self_leave(self_enter());
	ck_assert_uint_eq(roster_living(recorder_arena), 1);
}
END_TEST

static sigjmp_buf out;
static volatile sig_atomic_t was_refused;

static void leave_by_jump(int unused)
{
	(void)unused;
	was_refused = self_enter() == NULL;
	siglongjmp(out, 1);
}

__attribute__((noinline)) static void enter_and_be_interrupted(void)
{
	volatile char deeper[256];

	deeper[0] = 1;
	ck_assert_ptr_nonnull(self_enter());
	raise(SIGUSR1);
	ck_assert_int_eq(deeper[0], 0);
}

/* The handler interrupted the recorder and never comes back: the next call heals the guard. */
START_TEST(a_jump_out_of_the_recorder_heals)
{
	signal(SIGUSR1, leave_by_jump);
	if (sigsetjmp(out, 1) == 0)
		enter_and_be_interrupted();
	ck_assert_int_eq(was_refused, 1);
	ck_assert_uint_ne(record_io(1), 0);
	ck_assert_uint_ne(record_io(1), 0);
}
END_TEST

START_TEST(what_was_open_when_recording_was_off_ends_there)
{
	struct self *self = self_enter();
	uint64_t op = op_begin(self, KIND_IO, CALL_READ, 0, 3, 0, __builtin_frame_address(0));
	json_t *lines;

	self_leave(self);
	switch_disable();
	switch_enable();
	self = self_enter();
	ck_assert_uint_ne(op_current(self), op);
	op_end(self, op, OUTCOME_OK, 5);
	self_leave(self);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_lost_ends), 1);
	lines = recording_dump(true);
	ck_assert_uint_eq(count_events(lines, "k", "io"), 1);
	ck_assert_str_eq(word_of(event_of(lines, "k", "io"), "o"), "");
}
END_TEST

static void *announced_thread(void *op)
{
	struct self *self;

	thread_begin((uint64_t)(uintptr_t)op, 1, announced_thread, __builtin_frame_address(0));
	self = self_enter();
	ck_assert_uint_eq(op_current(self), (uint64_t)(uintptr_t)op);
	self_leave(self);
	thread_end();
	ck_assert_ptr_null(self_enter());
	thread_end();
	return NULL;
}

START_TEST(a_thread_is_the_op_that_was_announced)
{
	struct self *self = self_enter();
	uint64_t op = thread_announce(self, announced_thread);
	pthread_t thread;
	json_t *lines, *event;

	self_leave(self);
	pthread_create(&thread, NULL, announced_thread, (void *)(uintptr_t)op);
	pthread_join(thread, NULL);
	lines = recording_dump(true);
	event = event_of(lines, "k", "thread");
	ck_assert_uint_eq((uint64_t)number_of(event, "id"), op);
	ck_assert_int_eq(number_of(event, "p"), 1);
	ck_assert_str_eq(name_of(lines, event, "c"), "thread");
	ck_assert_uint_eq((uint64_t)number_of(event, "a"), (uint64_t)(uintptr_t)announced_thread);
	event = event_of(lines, "lk", "spawn");
	ck_assert_uint_eq((uint64_t)number_of(event, "t"), op);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_late), 1);
}
END_TEST

START_TEST(ids_that_are_used_up_are_continued_by_another_index)
{
	uint64_t before = record_io(1);
	uint64_t after;
	json_t *lines;

	self_of_thread.sequence = SELF_SEQUENCE_LAST - 2;
	record_io(2);
	record_io(3);
	after = record_io(4);
	ck_assert_uint_eq(before >> 32, 1);
	ck_assert_uint_eq(after >> 32, 2);
	lines = recording_dump(true);
	ck_assert_uint_eq(count_events(lines, "k", "thread"), 1);
	ck_assert_uint_eq(count_events(lines, "k", "io"), 4);
	ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(lines, 0), "threads")), 2);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(inside_is_inside_once);
	TEST(errno_is_the_programs);
	TEST(off_is_off);
	TEST(a_jump_out_of_the_recorder_heals);
	TEST(what_was_open_when_recording_was_off_ends_there);
	TEST(a_thread_is_the_op_that_was_announced);
	TEST(ids_that_are_used_up_are_continued_by_another_index);
}
