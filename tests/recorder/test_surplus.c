/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, each window has its memory cleared anew, or memory that is not used any more stays
 * with the arena.
 */
#include "surplus.h"

#include "chunk.h"
#include "recording.h"
#include "suite.h"

enum { CHUNKS = 300 };

static uint64_t now_ns;

static void tick_after(uint64_t periods)
{
	now_ns += periods * surplus_period_ns;
	surplus_tick(recorder_arena, now_ns);
}

static uint32_t chunks_with_memory(void)
{
	return recorder_arena->chunks.made - recorder_arena->bare_chunks;
}

static void record_chunks(uint32_t count)
{
	for (uint32_t i = 0; i < count * CHUNK_RECORDS; i++)
		record_io(1);
}

static void setup(void)
{
	recording_begin();
	surplus_forget();
	now_ns = 1;
	tick_after(0);
}

static void teardown(void)
{
	recording_end();
}

START_TEST(a_window_finds_the_memory_of_the_one_before)
{
	record_chunks(CHUNKS);
	for (int window = 0; window < 3; window++) {
		ck_assert_int_eq(snapshot_reset(recorder_arena), 0);
		tick_after(1);
		ck_assert_uint_ge(chunks_with_memory(), CHUNKS);
		ck_assert_int_gt(surplus_wait_ms(recorder_arena, now_ns), 0);
		record_chunks(CHUNKS);
		ck_assert_uint_le(recorder_arena->chunks.made, CHUNKS + 2);
	}
}
END_TEST

START_TEST(what_was_not_used_for_long_goes)
{
	uint64_t wait_ms;

	record_chunks(CHUNKS);
	ck_assert_int_eq(snapshot_reset(recorder_arena), 0);
	tick_after(1);
	ck_assert_uint_ge(chunks_with_memory(), CHUNKS);
	wait_ms = (uint64_t)surplus_wait_ms(recorder_arena, now_ns + surplus_period_ns / 2);
	ck_assert_uint_eq(wait_ms, 1 + surplus_period_ns / 2000000);
	ck_assert_int_eq(surplus_wait_ms(recorder_arena, now_ns + 2 * surplus_period_ns), 0);
	tick_after(1);
	ck_assert_uint_le(chunks_with_memory(), CHUNKS_KEPT + 1);
	ck_assert_int_eq(surplus_wait_ms(recorder_arena, now_ns), -1);
}
END_TEST

START_TEST(what_nobody_has_read_stays)
{
	record_chunks(CHUNKS);
	tick_after(1);
	tick_after(1);
	ck_assert_uint_ge(chunks_with_memory(), CHUNKS);
	ck_assert_int_eq(surplus_wait_ms(recorder_arena, now_ns), -1);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_window_finds_the_memory_of_the_one_before);
	TEST(what_was_not_used_for_long_goes);
	TEST(what_nobody_has_read_stays);
}
