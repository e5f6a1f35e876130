/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, two write dumps at once, or a dump that nobody got has eaten events. Or one whose
 * drainer died has handed them out twice. */
#include "snapshot.h"

#include <errno.h>

#include "chunk.h"
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

START_TEST(one_drainer_at_a_time)
{
	struct snapshot first, second;

	ck_assert_int_eq(snapshot_take(&first, recorder_arena, DUMP_AT_END), 0);
	ck_assert_int_eq(snapshot_take(&second, recorder_arena, DUMP_AT_END), -EBUSY);
	ck_assert_int_eq(snapshot_reset(recorder_arena), -EBUSY);
	snapshot_drop(&first, recorder_arena, false);
	ck_assert_int_eq(snapshot_reset(recorder_arena), 0);
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

/* Or its end would lie behind the dump's, and the process would pass for one that goes on. */
START_TEST(a_dead_process_was_there_until_it_ended)
{
	struct snapshot snapshot;

	record_io(1);
	recorder_arena->process_ended = clock_now_ticks();
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_DEAD), 0);
	ck_assert_uint_eq(snapshot.now.ticks, recorder_arena->process_ended);
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
	ck_assert_int_eq(snapshot_reset(recorder_arena), 0);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(snapshot.event_count, 0);
	ck_assert_uint_eq(snapshot.open_count, 1);
	snapshot_drop(&snapshot, recorder_arena, true);
}
END_TEST

/*
 * A drainer hands out three chunks, says so of `rows[_i].said`, and dies. Before the next one
 * comes, the program writes as many events, into chunks that are used again too.
 */
START_TEST(the_next_drainer_commits_for_a_dead_one)
{
	static const struct {
		const char *full;
		uint32_t said; /* of three chunks: two full, one not */
		uint64_t more;
		bool is_overwritten;
	} rows[] = {
		/* 0 */ { "drop", 0, 0, false },
		/* 1 */ { "drop", 1, 100, false },
		/* 2 */ { "drop", 2, 2 * CHUNK_RECORDS, false },
		/* 3 */ { "drop", 3, 100, false },
		/* 4 */ { "ring", 0, 100, false },
		/* 5 */ { "ring", 2, 100, false },
		/* 6: all that was handed out is overwritten meanwhile, and some of the new */
		{ "ring", 0, 8 * CHUNK_RECORDS, true },
	};
	uint64_t recorded = 2 * CHUNK_RECORDS + 10, overwritten;
	struct snapshot snapshot;

	setenv("WCPROF_FULL", rows[_i].full, 1);
	setenv("WCPROF_MAX_EVENTS", "2000", 1);
	recording_begin();
	for (uint64_t i = 0; i < recorded; i++)
		record_io(1);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(snapshot.event_count, recorded);
	recorder_arena->commit_begun = 1;
	for (uint32_t i = 0; i < 3; i++) {
		struct chunk *chunk = chunk_at(recorder_arena, i);

		if (i < rows[_i].said)
			chunk_drained(recorder_arena, i, chunk->snapshot);
		chunk_unpin(chunk);
	}
	snapshot_unlock(recorder_arena);
	for (uint64_t i = 0; i < rows[_i].more; i++)
		record_io(1);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(recorder_arena->commit_begun, 0);
	overwritten = snapshot.counters[COUNTER_overwritten];
	ck_assert_uint_eq(snapshot.event_count + overwritten, rows[_i].more);
	ck_assert_uint_eq(overwritten > 0, rows[_i].is_overwritten);
	snapshot_drop(&snapshot, recorder_arena, true);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
	recording_end();
}
END_TEST

/* It died between two words about one chunk; then a thread lets go of what it had pinned, and
 * overwrites it all. */
START_TEST(a_dead_drainers_chunks_are_overwritten)
{
	enum { MORE = 8 * CHUNK_RECORDS };
	struct snapshot snapshot;
	struct chunk *chunk;

	setenv("WCPROF_FULL", "ring", 1);
	setenv("WCPROF_MAX_EVENTS", "2000", 1);
	recording_begin();
	for (int i = 0; i < 5 * CHUNK_RECORDS; i++)
		record_io(1);
	chunk = chunk_at(recorder_arena, 0);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(snapshot.event_count, 5 * CHUNK_RECORDS);
	recorder_arena->commit_begun = 1;
	chunk->drained = chunk->snapshot;
	recorder_arena->drain_owner |= DRAIN_OUTSIDE | DRAIN_DIED;
	for (int i = 0; i < MORE; i++)
		ck_assert_uint_ne(record_io(1), 0);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(snapshot.event_count + snapshot.counters[COUNTER_overwritten], MORE);
	snapshot_drop(&snapshot, recorder_arena, true);
	ck_assert_uint_eq(snapshot_losses(recorder_arena), 0);
	recording_end();
}
END_TEST

SUITE()
{
	LOOP(the_next_drainer_commits_for_a_dead_one, 0, 7);
	TEST(a_dead_drainers_chunks_are_overwritten);
	FIXTURE(setup, teardown);
	TEST(one_drainer_at_a_time);
	TEST(what_was_not_handed_out_is_in_the_next);
	TEST(a_dead_process_was_there_until_it_ended);
	TEST(losses_are_reported_once);
	TEST(reset_forgets);
}
