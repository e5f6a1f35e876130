/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a dump does not say how often its threads were off the CPUs. */
#include "usage.h"

#include <poll.h>

#include "recording.h"
#include "suite.h"

START_TEST(switches_count_from_when_the_arena_was_made)
{
	enum { PAUSES = 20 };
	uint64_t before;

	for (int i = 0; i < PAUSES; i++)
		poll(NULL, 0, 1);
	recording_begin();
	usage_save(recorder_arena);
	before = recorder_arena->usage.voluntary_switches;
	ck_assert_uint_lt(before, PAUSES);
	for (int i = 0; i < PAUSES; i++)
		poll(NULL, 0, 1);
	usage_save(recorder_arena);
	ck_assert_uint_ge(recorder_arena->usage.voluntary_switches, before + PAUSES);
	recording_end();
}
END_TEST

SUITE()
{
	TEST(switches_count_from_when_the_arena_was_made);
}
