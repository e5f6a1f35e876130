/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the dump of the last seconds has older ones, or lacks some of them. */
#include "age.h"

#include "format.h"
#include "recording.h"
#include "suite.h"

static const uint64_t second = 1000000000;

/* Of a clock that stands still at the test's word; a tick is a nanosecond. */
static void begin_as(const char *full, const char *keep_s)
{
	setenv("WCPROF_FULL", full, 1);
	setenv("WCPROF_KEEP_S", keep_s, 1);
	setenv("WCPROF_ENABLE", "0", 1);
	recording_begin();
	clock_kind = 0;
	clock_test_ticks = 1000 * second;
	ck_assert_int_eq(switch_enable(), 0);
}

static void begin(void)
{
	begin_as("ring", "30");
}

static void record_at(uint64_t seconds, int count)
{
	clock_test_ticks = seconds * second;
	for (int i = 0; i < count; i++)
		record_io(seconds);
}

static json_int_t window_at(const json_t *lines, size_t index)
{
	json_t *windows = json_object_get(json_array_get(lines, 0), "windows");

	return json_integer_value(json_array_get(windows, index));
}

START_TEST(a_dump_has_the_last_seconds_alone)
{
	const json_t *lines;

	begin();
	record_at(1001, 2 * CHUNK_RECORDS);
	record_at(1040, 100);
	clock_test_ticks = 1060 * second;
	lines = recording_dump(false);
	ck_assert_uint_eq(count_events(lines, "k", "io"), 100);
	/* Exactly: a reader takes a dump with fewer lines for one that was cut off. */
	ck_assert_uint_eq((size_t)number_of(json_array_get(lines, 0), "event_count"),
			  json_array_size(lines) - 1);
	ck_assert_int_eq(window_at(lines, 0), 30 * (json_int_t)second);
	ck_assert_int_eq(window_at(lines, 1), 60 * (json_int_t)second);
	/* At any time, and as often as one likes. */
	clock_test_ticks = 1071 * second;
	lines = recording_dump(false);
	ck_assert_uint_eq(count_events(lines, "k", "io"), 0);
	ck_assert_int_eq(window_at(lines, 0), 41 * (json_int_t)second);
	recording_end();
}
END_TEST

/* Their base is too old for the dump, and they are read by it all the same. */
START_TEST(short_records_outlive_their_base)
{
	enum { OLD = 20, YOUNG = 30 };
	const json_t *lines;

	begin();
	clock_test_ticks = 1001 * second;
	for (int i = 0; i < OLD; i++)
		record_io_of(3, 1000);
	clock_test_ticks = 1004 * second;
	for (int i = 0; i < YOUNG; i++)
		record_io_of(3, 1000);
	ck_assert_uint_lt(extent_words(chunk_at(recorder_arena, 0)->published), 4 * (OLD + YOUNG));
	clock_test_ticks = 1033 * second;
	lines = recording_dump(false);
	ck_assert_uint_eq(count_events(lines, "k", "io"), YOUNG);
	ck_assert_uint_eq((size_t)number_of(json_array_get(lines, 0), "event_count"),
			  json_array_size(lines) - 1);
	recording_end();
}
END_TEST

START_TEST(old_chunks_are_emptied_once_the_oldest_first)
{
	begin();
	record_at(1001, 2 * CHUNK_RECORDS);
	record_at(1040, CHUNK_RECORDS + 5);
	ck_assert_uint_eq(age_empty(recorder_arena, 1001 * second), 0);
	ck_assert_uint_eq(age_empty(recorder_arena, 1030 * second), 2);
	ck_assert_uint_eq(age_empty(recorder_arena, 1030 * second), 0);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), CHUNK_RECORDS + 5);
	/* One that is being filled stays. */
	ck_assert_uint_eq(age_empty(recorder_arena, 1041 * second), 1);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 5);
	ck_assert(arena_is_valid(recorder_arena));
	recording_end();
}
END_TEST

START_TEST(rings_without_it_keep_all)
{
	begin();
	ck_assert_uint_eq(age_limit(recorder_arena, 1060 * second, UINT64_C(1) << 32),
			  1030 * second);
	ck_assert_uint_eq(age_limit(recorder_arena, 10 * second, UINT64_C(1) << 32), 0);
	ck_assert(age_is_due(recorder_arena, second));
	ck_assert(!age_is_due(recorder_arena, second + 1));
	ck_assert(age_is_due(recorder_arena, 2 * second));
	recorder_arena->keep_s = 0;
	ck_assert(!age_is_due(recorder_arena, 9 * second));
	ck_assert_uint_eq(age_limit(recorder_arena, 1060 * second, UINT64_C(1) << 32), 0);
	recording_end();
}
END_TEST

/* No ring: chunks have no order, and go back to their pool. */
START_TEST(elsewhere_old_chunks_are_emptied_as_well)
{
	uint32_t made;

	begin_as("drop", "30");
	record_at(1001, 2 * CHUNK_RECORDS);
	record_at(1040, CHUNK_RECORDS + 5);
	made = arena_chunks_made(recorder_arena);
	ck_assert(age_is_due(recorder_arena, 1));
	ck_assert_uint_eq(age_empty(recorder_arena, 1030 * second), 2);
	ck_assert_uint_eq(age_empty(recorder_arena, 1030 * second), 0);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), CHUNK_RECORDS + 5);
	record_at(1041, 2 * CHUNK_RECORDS);
	ck_assert_uint_eq(arena_chunks_made(recorder_arena), made);
	ck_assert(arena_is_valid(recorder_arena));
	recording_end();
}
END_TEST

/* Its events have gone: a window that began before that would have a hole. */
START_TEST(what_was_emptied_is_in_no_later_window)
{
	const json_t *lines;

	begin_as("drop", "30");
	record_at(1001, CHUNK_RECORDS);
	record_at(1040, 7);
	ck_assert_uint_eq(age_empty(recorder_arena, 1020 * second), 1);
	recorder_arena->keep_s = 0;
	clock_test_ticks = 1050 * second;
	lines = recording_dump(false);
	ck_assert_uint_eq(count_events(lines, "k", "io"), 7);
	ck_assert_int_eq(window_at(lines, 0), 20 * (json_int_t)second);
	recording_end();
}
END_TEST

START_TEST(the_last_seconds_can_be_asked_for)
{
	static char buffer[DUMP_BUFFER_BYTES];
	struct dump dump;

	begin_as("drop", "0");
	record_at(1001, 100);
	record_at(1040, 7);
	clock_test_ticks = 1050 * second;
	ck_assert_int_eq(dump_begin_last(&dump, recorder_arena, buffer, sizeof(buffer), DUMP_AT_END,
					 20 * second),
			 0);
	ck_assert_uint_eq(dump.snapshot.event_count, 7);
	ck_assert_uint_eq(dump.snapshot.since_ticks, 1030 * second);
	dump_end(&dump, false);
	/* All is still there. */
	ck_assert_uint_eq(count_events(recording_dump(false), "k", "io"), 107);
	recording_end();
}
END_TEST

SUITE()
{
	TEST(a_dump_has_the_last_seconds_alone);
	TEST(short_records_outlive_their_base);
	TEST(old_chunks_are_emptied_once_the_oldest_first);
	TEST(rings_without_it_keep_all);
	TEST(elsewhere_old_chunks_are_emptied_as_well);
	TEST(what_was_emptied_is_in_no_later_window);
	TEST(the_last_seconds_can_be_asked_for);
}
