/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, two threads fill the same chunk, or memory is lost. */
#include "pool.h"

#include "recording.h"
#include "suite.h"

enum { THREADS = 4, ROUNDS = 20000, HELD = 3 };

static struct arena *arena;
static struct pool_items items = { ARENA_CHUNKS, CHUNK_BYTES };

static void setup(void)
{
	clock_start();
	arena = arena_create((uint32_t)getpid(), 1, 0, 64 * CHUNK_RECORDS);
}

static void teardown(void)
{
	arena_unlink(arena);
}

START_TEST(last_given_is_first_taken)
{
	ck_assert_uint_eq(pool_take_given(arena, &arena->chunks, items), POOL_NONE);
	ck_assert_uint_eq(pool_take(arena, &arena->chunks, items), 0);
	ck_assert_uint_eq(pool_take(arena, &arena->chunks, items), 1);
	pool_give(arena, &arena->chunks, items, 0);
	pool_give(arena, &arena->chunks, items, 1);
	ck_assert_uint_eq(arena->chunks.given, 2);
	ck_assert_uint_eq(pool_take(arena, &arena->chunks, items), 1);
	ck_assert_uint_eq(pool_take_given(arena, &arena->chunks, items), 0);
	ck_assert_uint_eq(pool_take(arena, &arena->chunks, items), 2);
}
END_TEST

START_TEST(no_more_than_the_most)
{
	for (uint32_t i = 0; i < arena->chunks.max; i++)
		ck_assert_uint_eq(pool_take(arena, &arena->chunks, items), i);
	ck_assert_uint_eq(pool_take(arena, &arena->chunks, items), POOL_NONE);
	pool_give(arena, &arena->chunks, items, 7);
	ck_assert_uint_eq(pool_take(arena, &arena->chunks, items), 7);
}
END_TEST

/* Takes, marks, gives back: an item that two threads have at once is found marked. */
static void *hammer(void *unused)
{
	uint32_t held[HELD];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < HELD; i++) {
			uint32_t *mark;

			held[i] = pool_take(arena, &arena->chunks, items);
			if (held[i] == POOL_NONE)
				abort();
			mark = (uint32_t *)arena_at(arena,
						    items.offset + held[i] * items.item_bytes) +
			       1;
			if ((*mark)++ != 0)
				abort();
		}
		for (int i = 0; i < HELD; i++) {
			uint32_t *mark = (uint32_t *)arena_at(
						 arena, items.offset + held[i] * items.item_bytes) +
					 1;

			(*mark)--;
			pool_give(arena, &arena->chunks, items, held[i]);
		}
	}
	return unused;
}

START_TEST(an_item_belongs_to_one_thread)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, hammer, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_le(arena->chunks.made, THREADS * HELD);
	ck_assert_uint_eq(arena->chunks.given, arena->chunks.made);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(last_given_is_first_taken);
	TEST(no_more_than_the_most);
	TEST(an_item_belongs_to_one_thread);
}
