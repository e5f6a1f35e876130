/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the cost of an event is made up, slow paths count twice, or errno is lost. */
#include "meter.h"

#include <errno.h>

#include "format.h"
#include "recording.h"
#include "suite.h"

static struct slot *own_slot(void)
{
	return self_of_thread.slot;
}

START_TEST(a_few_events_of_each_chunk_are_metered)
{
	uint64_t first;

	recording_begin();
	for (int i = 0; i < CHUNK_RECORDS - 1; i++)
		record_io(1);
	/*
	 * The first event is written by the call that takes the chunk. A call in which the kernel
	 * took the CPU away is missing, see a_call_that_took_too_long_is_not_metered.
	 */
	first = own_slot()->cost.metered_events;
	ck_assert_uint_le(first, METER_EVENTS - 1);
	ck_assert_uint_ge(first, METER_EVENTS / 2);
	ck_assert_uint_gt(own_slot()->cost.metered_ticks, 0);
	for (int i = 0; i < CHUNK_RECORDS; i++)
		record_io(1);
	ck_assert_uint_le(own_slot()->cost.metered_events - first, METER_EVENTS - 1);
	ck_assert_uint_ge(own_slot()->cost.metered_events - first, METER_EVENTS / 2);
	recording_end();
}
END_TEST

START_TEST(errno_stays_while_the_meter_runs)
{
	recording_begin();
	for (int i = 0; i < 2 * METER_EVENTS; i++) {
		struct self *self;

		errno = 1000 + i;
		self = self_enter();
		errno = 1;
		self_leave(self);
		ck_assert_int_eq(errno, 1000 + i);
		record_io(1);
		ck_assert_int_eq(errno, 1000 + i);
	}
	recording_end();
}
END_TEST

static void spend_ticks(uint64_t ticks)
{
	uint64_t begun = clock_now_ticks();

	while (clock_now_ticks() - begun < ticks)
		continue;
}

static void spend_cpu_ns(uint64_t ns)
{
	uint64_t begun = clock_thread_cpu_ns();

	while (clock_thread_cpu_ns() - begun < ns)
		continue;
}

START_TEST(a_call_that_took_too_long_is_not_metered)
{
	struct self *self;
	uint64_t before;

	recording_begin();
	record_io(1);
	self = self_enter();
	ck_assert_ptr_nonnull(self);
	before = self->slot->cost.metered_ticks;
	spend_ticks(2 * METER_TICKS_MOST);
	self_leave(self);
	ck_assert_uint_eq(self->slot->cost.metered_ticks, before);
	recording_end();
}
END_TEST

START_TEST(a_slow_path_in_another_counts_once_and_is_not_metered)
{
	struct slow_path outer, inner;
	struct self *self;
	uint64_t slow, metered, begun;

	recording_begin();
	record_io(1);
	self = self_enter();
	slow = self->slot->cost.slow_ns;
	metered = self->slot->cost.metered_ticks;
	begun = clock_thread_cpu_ns();
	outer = slow_path_begin(self);
	inner = slow_path_begin(self);
	spend_cpu_ns(1000);
	slow_path_end(self, &inner);
	slow_path_end(self, &outer);
	ck_assert_uint_ge(self->slot->cost.slow_ns - slow, 1000);
	ck_assert_uint_le(self->slot->cost.slow_ns - slow, clock_thread_cpu_ns() - begun);
	self_leave(self);
	ck_assert_uint_eq(self->slot->cost.metered_ticks, metered);
	recording_end();
}
END_TEST

START_TEST(a_slow_path_counts_its_cpu_time_alone)
{
	struct timespec while_asleep = { .tv_nsec = 20 * 1000 * 1000 };
	struct slow_path path;

	recording_begin();
	record_io(1);
	path = slow_path_begin(&self_of_thread);
	nanosleep(&while_asleep, NULL);
	slow_path_end(&self_of_thread, &path);
	ck_assert_uint_lt(own_slot()->cost.slow_ns, (uint64_t)while_asleep.tv_nsec);
	recording_end();
}
END_TEST

START_TEST(a_short_path_counts_so_much_at_most)
{
	struct slow_path path;
	uint64_t before;

	recording_begin();
	record_io(1);
	before = own_slot()->cost.short_ticks;
	path = short_path_begin(&self_of_thread);
	spend_ticks(2 * METER_TICKS_MOST);
	short_path_end(&self_of_thread, &path);
	ck_assert_uint_eq(own_slot()->cost.short_ticks - before, METER_TICKS_MOST);
	recording_end();
}
END_TEST

START_TEST(what_comes_before_the_arena_is_not_lost)
{
	struct slow_path path;

	setenv("WCPROF_ENABLE", "0", 1);
	recording_begin();
	path = slow_path_begin(&self_of_thread);
	spend_cpu_ns(1000);
	slow_path_end(&self_of_thread, &path);
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_uint_ge(recorder_arena->cost.threads.slow_ns, 1000);
	recording_end();
}
END_TEST

SUITE()
{
	TEST(a_few_events_of_each_chunk_are_metered);
	TEST(errno_stays_while_the_meter_runs);
	TEST(a_call_that_took_too_long_is_not_metered);
	TEST(a_slow_path_in_another_counts_once_and_is_not_metered);
	TEST(a_slow_path_counts_its_cpu_time_alone);
	TEST(a_short_path_counts_so_much_at_most);
	TEST(what_comes_before_the_arena_is_not_lost);
}
