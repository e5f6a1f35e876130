/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, records are lost, doubled or torn between a thread and the drainer. */
#include "chunk.h"

#include "recording.h"
#include "roster.h"

static void setup(void)
{
	setenv("WCPROF_MAX_EVENTS", "2044", 1); /* four chunks */
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

START_TEST(a_record_is_published_when_it_is_whole)
{
	struct chunk *chunk = chunk_at(recorder_arena, 0);

	ck_assert_uint_ne(record_io(11), 0);
	ck_assert_uint_eq(chunk->published, 1);
	ck_assert_uint_eq(chunk->records[0].value, 11);
	ck_assert_uint_eq(chunk->state, CHUNK_FILLING);
}
END_TEST

START_TEST(a_full_chunk_is_followed_by_another)
{
	for (uint64_t i = 0; i < CHUNK_RECORDS + 1; i++)
		record_io(i);
	ck_assert_uint_eq(chunk_at(recorder_arena, 0)->state, CHUNK_FULL);
	ck_assert_uint_eq(chunk_at(recorder_arena, 1)->published, 1);
	ck_assert_uint_eq(chunk_at(recorder_arena, 1)->records[0].value, CHUNK_RECORDS);
}
END_TEST

START_TEST(when_all_are_full_events_are_counted_as_dropped)
{
	for (uint64_t i = 0; i < 4 * CHUNK_RECORDS + 7; i++)
		record_io(i);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_full), 7);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 4 * CHUNK_RECORDS);
}
END_TEST

START_TEST(what_was_drained_is_used_again)
{
	for (uint64_t i = 0; i < 4 * CHUNK_RECORDS; i++)
		record_io(i);
	for (uint32_t i = 0; i < 4; i++)
		chunk_drained(recorder_arena, i, CHUNK_RECORDS);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
	for (uint64_t i = 0; i < 4 * CHUNK_RECORDS; i++)
		record_io(i);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_full), 0);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 4 * CHUNK_RECORDS);
}
END_TEST

START_TEST(a_half_full_chunk_stays_with_its_thread)
{
	struct chunk *chunk = chunk_at(recorder_arena, 0);

	record_io(1);
	chunk_drained(recorder_arena, 0, 1);
	ck_assert_uint_eq(chunk->published, 1);
	record_io(2);
	ck_assert_uint_eq(chunk->published, 2);
	ck_assert_uint_eq(chunk->drained, 1);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 1);
}
END_TEST

static void *one_event(void *unused)
{
	thread_begin(0, 0, NULL, __builtin_frame_address(0));
	record_io(5);
	thread_end();
	return unused;
}

/* A hundred threads one after the other: their few records share a chunk. */
START_TEST(an_ended_threads_chunk_is_filled_by_the_next)
{
	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, one_event, NULL);
		pthread_join(thread, NULL);
	}
	ck_assert_uint_eq(recorder_arena->chunks.made, 1);
	ck_assert_uint_eq(chunk_at(recorder_arena, 0)->published, 200);
	ck_assert_uint_eq(chunk_at(recorder_arena, 0)->threads_ended, 100);
	ck_assert_uint_eq(recorder_arena->slots.made, 1);
}
END_TEST

START_TEST(chunks_are_made_ahead)
{
	chunk_prepare(recorder_arena, 3);
	ck_assert_uint_eq(recorder_arena->chunks.made, 3);
	ck_assert_uint_eq(recorder_arena->chunks.given, 3);
	chunk_prepare(recorder_arena, 100);
	ck_assert_uint_eq(recorder_arena->chunks.made, 4);
	record_io(1);
	ck_assert_uint_eq(recorder_arena->chunks.given, 3);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("chunk");
	TCase *tests = tcase_create("chunk");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_record_is_published_when_it_is_whole);
	tcase_add_test(tests, a_full_chunk_is_followed_by_another);
	tcase_add_test(tests, when_all_are_full_events_are_counted_as_dropped);
	tcase_add_test(tests, what_was_drained_is_used_again);
	tcase_add_test(tests, a_half_full_chunk_stays_with_its_thread);
	tcase_add_test(tests, an_ended_threads_chunk_is_filled_by_the_next);
	tcase_add_test(tests, chunks_are_made_ahead);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
