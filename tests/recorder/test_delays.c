/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a thread's waits for a CPU are taken for something else, or for another's. */
#include "recording.h"

#include <stdio.h>

#include "chunk.h"
#include "delays.h"
#include "mark.h"
#include "roster.h"
#include "suite.h"
#include "switch.h"

static void setup(void)
{
	setenv("WCPROF_CPU_TIME", "1", 1);
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

/* The kernel's figures of this thread now. */
static uint64_t own_delay_ns(void)
{
	unsigned long long on_cpu, delay = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (file && fscanf(file, "%llu %llu", &on_cpu, &delay) != 2)
		delay = 0;
	if (file)
		fclose(file);
	return delay;
}

START_TEST(a_mark_carries_the_delay_of_its_thread)
{
	const struct slot *slot = roster_slot(recorder_arena, 0);
	uint64_t before = own_delay_ns(), after;
	struct self *self;

	ck_assert_uint_ne(record_io(1), 0);
	ck_assert_uint_eq(slot->delay_ns, 0);
	delays_tick(recorder_arena, 1);
	after = own_delay_ns();
	ck_assert(slot->delay_ns >= before && slot->delay_ns <= after);
	self = self_enter();
	mark_write(self, clock_ticks());
	ck_assert_uint_eq(recording_last(self->chunk).id, slot->delay_ns);
	self_leave(self);
}
END_TEST

START_TEST(it_is_read_when_it_is_due)
{
	struct slot *slot = roster_slot(recorder_arena, 0);

	record_io(1);
	delays_tick(recorder_arena, 1);
	slot->delay_ns = UINT64_MAX;
	delays_tick(recorder_arena, DELAYS_TICK_MS * UINT64_C(1000000) - 1);
	ck_assert_uint_eq(slot->delay_ns, UINT64_MAX);
	delays_tick(recorder_arena, DELAYS_TICK_MS * UINT64_C(1000000) + 1);
	ck_assert_uint_ne(slot->delay_ns, UINT64_MAX);
}
END_TEST

static void *live(void *unused)
{
	thread_begin(0, 0, NULL, __builtin_frame_address(0));
	roster_slot(recorder_arena, 0)->delay_ns = 77;
	thread_end();
	return unused;
}

START_TEST(the_next_thread_in_a_slot_begins_at_nothing)
{
	pthread_t thread;

	pthread_create(&thread, NULL, live, NULL);
	pthread_join(thread, NULL);
	/* Nobody is in it now. */
	delays_update(roster_slot(recorder_arena, 0));
	ck_assert_uint_eq(roster_slot(recorder_arena, 0)->delay_ns, 77);
	record_io(1);
	ck_assert_uint_eq(roster_slot(recorder_arena, 0)->delay_ns, 0);
}
END_TEST

/* No mark has how long threads waited in a pause. */
START_TEST(all_are_read_where_recording_begins_and_ends)
{
	struct slot *slot = roster_slot(recorder_arena, 0);

	record_io(1);
	slot->delay_ns = UINT64_MAX;
	switch_disable();
	ck_assert_uint_ne(slot->delay_ns, UINT64_MAX);
	slot->delay_ns = UINT64_MAX;
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_uint_ne(slot->delay_ns, UINT64_MAX);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_mark_carries_the_delay_of_its_thread);
	TEST(it_is_read_when_it_is_due);
	TEST(the_next_thread_in_a_slot_begins_at_nothing);
	TEST(all_are_read_where_recording_begins_and_ends);
}
