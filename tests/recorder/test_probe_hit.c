/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, calls of a probed function are counted or recorded wrongly. */
#include "probe_hit.h"

#include "probe_patch.h"
#include "probed.h"
#include "recording.h"
#include "suite.h"

static void probe(uint64_t min_ns)
{
	struct probe_order order = probed_order();

	recording_begin();
	order.min_ns = min_ns;
	ck_assert_ptr_null(probe_add(&order));
}

static uint64_t counted(bool is_brief)
{
	uint64_t sum = 0;

	for (int i = 0; i < PROBE_STRIPES; i++)
		sum += is_brief ? probe_counters->counts[0][i].brief
				: probe_counters->counts[0][i].calls;
	return sum;
}

START_TEST(short_calls_are_counted_and_not_recorded)
{
	probe(UINT64_C(3600000000000));
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(probed(i), i + 1);
	ck_assert_uint_eq(counted(false), 5);
	ck_assert_uint_eq(counted(true), 5);
	ck_assert_uint_eq(count_events(recording_dump(false), "k", "user"), 0);
	recording_end();
}

START_TEST(nothing_is_recorded_while_recording_is_off)
{
	probe(0);
	switch_disable();
	ck_assert_int_eq(probed(1), 2);
	ck_assert_uint_eq(counted(false), 0);
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_int_eq(probed(1), 2);
	ck_assert_uint_eq(counted(false), 1);
	recording_end();
}

/* A hit within the recorder itself, as by a signal's handler, is no op. */
START_TEST(a_hit_within_the_recorder_is_none)
{
	struct self *self;

	probe(0);
	self = self_enter();
	self->busy_frame = self->stack_top;
	ck_assert_int_eq(probed(1), 2);
	self_leave(self);
	ck_assert_uint_eq(counted(false), 0);
	recording_end();
}

START_TEST(entries_are_left_for_what_is_called)
{
	struct probe_stack stacks[SLOT_ENTRIES];

	probe(0);
	for (int i = SLOT_ENTRIES; i-- > 0;) {
		stacks[i] = (struct probe_stack){ .index = 0 };
		probe_enter(&stacks[i]);
		ck_assert_uint_eq(stacks[i].moved, probe_table[0].moved);
	}
	ck_assert_uint_ne(stacks[SLOT_ENTRIES - 1].op, 0);
	ck_assert_uint_eq(stacks[0].op, 0);
	for (int i = 0; i < SLOT_ENTRIES; i++)
		probe_leave(&stacks[i]);
	ck_assert_uint_eq(counted(false), SLOT_ENTRIES);
	ck_assert_uint_eq(count_events(recording_dump(false), "k", "user"), SLOT_ENTRIES - 9);
	recording_end();
}

SUITE()
{
	TEST(short_calls_are_counted_and_not_recorded);
	TEST(nothing_is_recorded_while_recording_is_off);
	TEST(a_hit_within_the_recorder_is_none);
	TEST(entries_are_left_for_what_is_called);
}
