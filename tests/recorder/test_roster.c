/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, threads are mixed up, or slots of dead threads are never used again. */
#include "roster.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include "recording.h"
#include "suite.h"

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

START_TEST(a_slot_is_used_again_after_its_thread)
{
	struct slot *first = roster_claim(recorder_arena, 1, 100, 1);
	struct slot *second = roster_claim(recorder_arena, 2, 101, 2);

	ck_assert_ptr_ne(first, second);
	ck_assert_uint_eq(roster_living(recorder_arena), 2);
	first->counters[COUNTER_dropped_full] = 5;
	roster_release(recorder_arena, first);
	ck_assert_uint_eq(roster_living(recorder_arena), 1);
	ck_assert_uint_eq(recorder_arena->counters[COUNTER_dropped_full], 5);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_full), 5);
	ck_assert_ptr_eq(roster_claim(recorder_arena, 3, 102, 3), first);
	ck_assert_uint_eq(first->counters[COUNTER_dropped_full], 0);
}
END_TEST

START_TEST(there_are_so_many_and_no_more)
{
	for (uint32_t i = 1; i <= ROSTER_SLOTS; i++)
		ck_assert_ptr_nonnull(roster_claim(recorder_arena, i, i, i));
	ck_assert_ptr_null(roster_claim(recorder_arena, ROSTER_SLOTS + 1, 1, 1));
	/* A thread that finds none is counted, and left alone. */
	ck_assert_ptr_null(self_enter());
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_unregistered), 1);
}
END_TEST

/* A runtime names its threads when they run. */
START_TEST(a_name_is_noted_as_the_process_ends)
{
	const struct slot *slot;

	self_leave(self_enter());
	slot = roster_slot(recorder_arena, 0);
	ck_assert_int_eq(prctl(PR_SET_NAME, "a late name"), 0);
	ck_assert_str_ne(slot->name, "a late name");
	recorder_image_ends(END_PERHAPS);
	ck_assert_str_eq(slot->name, "a late name");
}
END_TEST

/* Ends without thread_end(), in the middle of an op, as after pthread_exit in a raw clone. */
static void *dies(void *unused)
{
	struct self *self;

	thread_begin(0, 0, dies, __builtin_frame_address(0));
	record_io(1);
	self = self_enter();
	op_begin(self, KIND_SLEEP, CALL_READ, 9, -1, 0, __builtin_frame_address(0));
	self_leave(self);
	return unused;
}

START_TEST(the_dead_are_buried)
{
	pthread_t thread;
	json_t *lines;
	json_t *op;

	pthread_create(&thread, NULL, dies, NULL);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(roster_living(recorder_arena), 1);
	/* pthread_join() returns before the kernel has forgotten the thread. */
	while (syscall(SYS_tgkill, getpid(), roster_slot(recorder_arena, 0)->tid, 0) == 0)
		continue;
	lines = recording_dump(true);
	ck_assert_uint_eq(roster_living(recorder_arena), 0);
	op = event_of(lines, "k", "sleep");
	ck_assert_str_eq(word_of(op, "o"), "canceled");
	ck_assert_int_gt(number_of(op, "d"), number_of(op, "s"));
	op = event_of(lines, "k", "thread");
	ck_assert_int_eq(number_of(op, "id"), (1LL << 32) + 1);
	/* The rest of its chunk goes on. */
	ck_assert_uint_ne(record_io(2), 0);
	ck_assert_uint_eq(recorder_arena->chunks.made, 1);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_slot_is_used_again_after_its_thread);
	TEST(a_name_is_noted_as_the_process_ends);
	TEST(there_are_so_many_and_no_more);
	TEST(the_dead_are_buried);
}
