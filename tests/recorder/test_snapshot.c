/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, two write dumps at once, or a dump that nobody got has eaten events. */
#include "snapshot.h"

#include <errno.h>

#include "chunk.h"
#include "recording.h"
#include "roster.h"

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

START_TEST(one_drainer_at_a_time)
{
	struct snapshot first, second;

	ck_assert_int_eq(snapshot_take(&first, recorder_arena, DUMP_AT_END), 0);
	ck_assert_int_eq(snapshot_take(&second, recorder_arena, DUMP_AT_END), -EBUSY);
	ck_assert_int_eq(process_reset(), -EBUSY);
	snapshot_drop(&first, recorder_arena, false);
	ck_assert_int_eq(process_reset(), 0);
}
END_TEST

START_TEST(what_was_not_handed_out_is_in_the_next)
{
	struct snapshot snapshot;

	record_io(1);
	record_io(2);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
		ck_assert_uint_eq(snapshot.event_count, 2);
		snapshot_drop(&snapshot, recorder_arena, i > 0);
	}
	record_io(3);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(snapshot.event_count, 1);
	snapshot_drop(&snapshot, recorder_arena, true);
}
END_TEST

START_TEST(losses_are_reported_once)
{
	struct snapshot snapshot;

	arena_count(recorder_arena, COUNTER_dropped_full);
	arena_count(recorder_arena, COUNTER_dropped_strings);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
		/* Not handed out, handed out, and then there is no more to report. */
		ck_assert_uint_eq(snapshot.losses, i < 2);
		ck_assert_uint_eq(snapshot.losses_total, 1);
		snapshot_drop(&snapshot, recorder_arena, i > 0);
	}
}
END_TEST

START_TEST(reset_forgets)
{
	struct snapshot snapshot;

	for (int i = 0; i < 2 * CHUNK_RECORDS; i++)
		record_io(1);
	ck_assert_int_eq(process_reset(), 0);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(snapshot.event_count, 0);
	ck_assert_uint_eq(snapshot.open_count, 1);
	snapshot_drop(&snapshot, recorder_arena, true);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("snapshot");
	TCase *tests = tcase_create("snapshot");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, one_drainer_at_a_time);
	tcase_add_test(tests, what_was_not_handed_out_is_in_the_next);
	tcase_add_test(tests, losses_are_reported_once);
	tcase_add_test(tests, reset_forgets);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
