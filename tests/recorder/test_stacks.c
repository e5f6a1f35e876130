/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, call stacks in a dump are wrong, doubled or lost. */
#include "stacks.h"

#include "recording.h"
#include "suite.h"

enum { THREADS = 4, STACKS = 3000 };

static struct arena *arena;

static void setup(void)
{
	clock_start();
	arena = arena_create((uint32_t)getpid(), 1, 0, 1000);
}

static void teardown(void)
{
	arena_unlink(arena);
}

START_TEST(equal_stacks_have_equal_ids)
{
	const uint64_t frames[] = { 1, 2, 3 };
	const uint64_t *found;
	uint32_t count;

	ck_assert_uint_eq(stacks_intern(arena, frames, 3), 1);
	ck_assert_uint_eq(stacks_intern(arena, frames, 2), 2);
	ck_assert_uint_eq(stacks_intern(arena, frames, 3), 1);
	ck_assert_uint_eq(stacks_intern(arena, frames, 0), 0);
	found = stacks_get(arena, 1, &count);
	ck_assert_uint_eq(count, 3);
	ck_assert_mem_eq(found, frames, sizeof(frames));
	ck_assert_uint_eq(stacks_count(arena), 2);
}
END_TEST

START_TEST(an_unknown_id_has_no_frames)
{
	uint32_t count = 5;

	ck_assert_ptr_null(stacks_get(arena, 0, &count));
	ck_assert_uint_eq(count, 0);
	ck_assert_ptr_null(stacks_get(arena, 9, &count));
	ck_assert_ptr_null(stacks_get(arena, UINT32_MAX, &count));
}
END_TEST

START_TEST(a_full_table_counts_and_goes_on)
{
	for (uint64_t i = 0; i < STACKS_MAX + 100; i++) {
		uint64_t frames[2] = { i, 1 };

		stacks_intern(arena, frames, 2);
	}
	ck_assert_uint_eq(stacks_count(arena), STACKS_MAX - 1);
	ck_assert_uint_ge(arena->counters[COUNTER_dropped_stacks], 100);
}
END_TEST

static void *intern_all(void *ids)
{
	for (uint64_t i = 0; i < STACKS; i++) {
		uint64_t frames[3] = { i, i + 1, 7 };

		((uint32_t *)ids)[i] = stacks_intern(arena, frames, 3);
	}
	return NULL;
}

START_TEST(threads_agree_on_ids)
{
	static uint32_t ids[THREADS][STACKS];
	pthread_t threads[THREADS];
	uint32_t count;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, intern_all, ids[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint64_t k = 0; k < STACKS; k++) {
		ck_assert_uint_eq(stacks_get(arena, ids[0][k], &count)[1], k + 1);
		for (int i = 1; i < THREADS; i++)
			ck_assert_uint_eq(ids[i][k], ids[0][k]);
	}
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(equal_stacks_have_equal_ids);
	TEST(an_unknown_id_has_no_frames);
	TEST(a_full_table_counts_and_goes_on);
	TEST(threads_agree_on_ids);
}
