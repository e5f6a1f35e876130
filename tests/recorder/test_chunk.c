/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, records are lost, doubled or torn between a thread and the drainer. */
#include "chunk.h"

#include <sys/mman.h>

#include "recording.h"
#include "roster.h"
#include "suite.h"

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
	ck_assert_uint_eq(chunk->published, recording_extent(1));
	ck_assert_uint_eq(recording_last(chunk).value, 11);
	ck_assert_uint_eq(chunk->state, CHUNK_FILLING);
}
END_TEST

START_TEST(a_full_chunk_is_followed_by_another)
{
	for (uint64_t i = 0; i < CHUNK_RECORDS + 1; i++)
		record_io(i);
	ck_assert_uint_eq(chunk_at(recorder_arena, 0)->state, CHUNK_FULL);
	ck_assert_uint_eq(chunk_at(recorder_arena, 1)->published, recording_extent(1));
	ck_assert_uint_eq(recording_last(chunk_at(recorder_arena, 1)).value, CHUNK_RECORDS);
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
		chunk_drained(recorder_arena, i, recording_extent(CHUNK_RECORDS));
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
	chunk_drained(recorder_arena, 0, recording_extent(1));
	ck_assert_uint_eq(chunk->published, recording_extent(1));
	record_io(2);
	ck_assert_uint_eq(chunk->published, recording_extent(2));
	ck_assert_uint_eq(chunk->drained, recording_extent(1));
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
	ck_assert_uint_eq(extent_records(chunk_at(recorder_arena, 0)->published), 200);
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

/* --- Rings ------------------------------------------------------------------------------------ */

static void setup_ring(void)
{
	setenv("WCPROF_FULL", "ring", 1);
	setup();
}

static uint64_t overwritten(void)
{
	return roster_counter(recorder_arena, COUNTER_overwritten);
}

/* Records from...: their values count up. */
static void record_many(uint64_t from, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		ck_assert_uint_ne(record_io(from + i), 0);
}

START_TEST(a_ring_has_the_last_events)
{
	/* Five chunks: of the six that were filled four are left, and seven records of the next.
	 * The oldest is not in the dump: it is left to the threads. */
	uint64_t produced = 6 * CHUNK_RECORDS + 7;
	uint64_t first = 3 * CHUNK_RECORDS;
	json_t *lines;

	record_many(1, produced);
	ck_assert_uint_eq(overwritten(), first - CHUNK_RECORDS);
	ck_assert_uint_eq(snapshot_losses(recorder_arena), 0);
	lines = recording_dump_of(recorder_arena, DUMP_RUNNING, true);
	ck_assert_int_eq(number_of(json_array_get(lines, 0), "event_count"),
			 (json_int_t)(produced - first));
	ck_assert_uint_eq(json_array_size(lines) - 1, produced - first);
	/* The oldest first. */
	for (uint64_t i = 0; i < produced - first; i++)
		ck_assert_int_eq(number_of(json_array_get(lines, i + 1), "n"),
				 (json_int_t)(first + i + 1));
	ck_assert_int_eq(
		number_of(json_object_get(json_array_get(lines, 0), "counters"), "overwritten"),
		(json_int_t)(first - CHUNK_RECORDS));
	/* Events that are still there are in the next one. */
	ck_assert_uint_eq(json_array_size(recording_dump(true)) - 1, CHUNK_RECORDS);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
}
END_TEST

/* The first window of a dump begins when the last event ended that is not in it. */
START_TEST(a_ring_says_from_when_on_all_is_there)
{
	static const struct {
		uint64_t produced;
		uint64_t left_out; /* the oldest, of which some are left to the threads */
	} rows[] = {
		/* 0 */ { 3 * CHUNK_RECORDS, 0 },
		/* 1 */ { 4 * CHUNK_RECORDS + 7, CHUNK_RECORDS },
		/* 2 */ { 6 * CHUNK_RECORDS + 7, 3 * CHUNK_RECORDS },
	};
	uint64_t left_out = rows[_i].left_out, before = 0, after = 0;
	struct snapshot snapshot;

	for (uint64_t i = 1; i <= rows[_i].produced; i++) {
		before = i == left_out ? clock_now_ticks() : before;
		record_many(i, 1);
		after = i == left_out ? clock_now_ticks() : after;
	}
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_RUNNING), 0);
	ck_assert_uint_eq(snapshot.event_count, rows[_i].produced - left_out);
	ck_assert_uint_ge(snapshot.since_ticks, before);
	ck_assert_uint_le(snapshot.since_ticks, after);
	snapshot_drop(&snapshot, recorder_arena, true);
}
END_TEST

START_TEST(what_a_dump_reads_is_not_overwritten)
{
	struct snapshot snapshot;

	record_many(1, 5 * CHUNK_RECORDS);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_RUNNING), 0);
	ck_assert_uint_eq(snapshot.event_count, 4 * CHUNK_RECORDS);
	/* The room that it leaves. */
	record_many(1, CHUNK_RECORDS);
	ck_assert_uint_eq(overwritten(), CHUNK_RECORDS);
	ck_assert_uint_eq(record_io(1) != 0, 1);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_full), 1);
	/* Written out: no longer in the way. */
	snapshot_passed(recorder_arena, 1);
	record_many(1, CHUNK_RECORDS);
	record_io(1);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_full), 2);
	ck_assert_uint_eq(overwritten(), 2 * CHUNK_RECORDS);
	snapshot_drop(&snapshot, recorder_arena, true);
	/* It was handed out after all; and what is in its place is there for the next dump. */
	ck_assert_uint_eq(overwritten(), CHUNK_RECORDS);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 2 * CHUNK_RECORDS);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(snapshot.event_count, 2 * CHUNK_RECORDS);
	snapshot_drop(&snapshot, recorder_arena, true);
}
END_TEST

START_TEST(a_dump_that_failed_leaves_the_ring_as_it_was)
{
	struct snapshot snapshot;

	record_many(1, 5 * CHUNK_RECORDS);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_RUNNING), 0);
	snapshot_passed(recorder_arena, 1);
	record_many(1, 2 * CHUNK_RECORDS);
	snapshot_drop(&snapshot, recorder_arena, false);
	ck_assert_uint_eq(overwritten(), 2 * CHUNK_RECORDS);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 5 * CHUNK_RECORDS);
	record_many(1, 5 * CHUNK_RECORDS);
	ck_assert_uint_eq(overwritten(), 7 * CHUNK_RECORDS);
}
END_TEST

static void *fill_and_end(void *unused)
{
	thread_begin(0, 0, NULL, __builtin_frame_address(0));
	record_many(1000, CHUNK_RECORDS + 10);
	thread_end();
	return unused;
}

/* A thread's second chunk is not one that an ended thread left: that is older than its first, and
 * would be overwritten before. */
START_TEST(chunks_of_a_thread_are_overwritten_in_order)
{
	pthread_t thread;

	record_many(1, 2);
	pthread_create(&thread, NULL, fill_and_end, NULL); /* chunk 1, and a part of chunk 2 */
	pthread_join(thread, NULL);
	record_many(3, CHUNK_RECORDS);
	ck_assert_uint_eq(extent_records(chunk_at(recorder_arena, 3)->published), 2);
	ck_assert_uint_eq(extent_records(chunk_at(recorder_arena, 2)->published), 11);
}
END_TEST

/* --- Memory ----------------------------------------------------------------------------------- */

static uint32_t resident_pages(uint32_t index)
{
	unsigned char pages[CHUNK_BYTES / 4096];
	uint32_t count = 0;

	ck_assert_int_eq(mincore(chunk_at(recorder_arena, index), CHUNK_BYTES, pages), 0);
	for (size_t i = 0; i < sizeof(pages); i++)
		count += pages[i] & 1;
	return count;
}

/* Both ways to be full. */
START_TEST(memory_of_empty_chunks_is_given_back_and_comes_again)
{
	uint32_t resident = 0;

	record_many(1, 3 * CHUNK_RECORDS + 5);
	recording_dump(true);
	/* A ring has one chunk more than the four. */
	chunk_trim(recorder_arena, recorder_arena->chunks.max - 3);
	ck_assert_uint_eq(recorder_arena->bare_chunks, 2);
	for (uint32_t i = 0; i < 4; i++)
		resident += resident_pages(i);
	ck_assert_uint_eq(resident, 8 + 8 + 1 + 1);
	ck_assert_uint_eq(resident_pages(3), 8); /* it is not full */
	record_many(1, 3 * CHUNK_RECORDS + 5);
	ck_assert_uint_eq(recorder_arena->bare_chunks, recorder_arena->is_ring);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_full), 0);
	ck_assert_uint_eq(json_array_size(recording_dump(true)), 3 * CHUNK_RECORDS + 6);
	chunk_trim(recorder_arena, 0);
	chunk_prepare(recorder_arena, 4);
	ck_assert_uint_eq(recorder_arena->bare_chunks, 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup_ring, teardown);
	TEST(a_ring_has_the_last_events);
	LOOP(a_ring_says_from_when_on_all_is_there, 0, 3);
	TEST(what_a_dump_reads_is_not_overwritten);
	TEST(a_dump_that_failed_leaves_the_ring_as_it_was);
	TEST(chunks_of_a_thread_are_overwritten_in_order);
	TEST(memory_of_empty_chunks_is_given_back_and_comes_again);
	FIXTURE(setup, teardown);
	TEST(a_record_is_published_when_it_is_whole);
	TEST(a_full_chunk_is_followed_by_another);
	TEST(when_all_are_full_events_are_counted_as_dropped);
	TEST(what_was_drained_is_used_again);
	TEST(a_half_full_chunk_stays_with_its_thread);
	TEST(an_ended_threads_chunk_is_filled_by_the_next);
	TEST(chunks_are_made_ahead);
	TEST(memory_of_empty_chunks_is_given_back_and_comes_again);
}
