/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, names in a dump are wrong, doubled or lost. */
#include "strings.h"

#include "recording.h"
#include "suite.h"

enum { THREADS = 4, NAMES = 3000 };

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

START_TEST(equal_strings_have_equal_ids)
{
	uint32_t bytes;
	uint32_t first = strings_intern(arena, "worker", 6);

	ck_assert_uint_eq(first, 1);
	ck_assert_uint_eq(strings_intern(arena, "workers", 7), 2);
	ck_assert_uint_eq(strings_intern(arena, "workers", 6), first);
	ck_assert_uint_eq(strings_intern(arena, "", 0), 0);
	ck_assert_str_eq(strings_get(arena, first, &bytes), "worker");
	ck_assert_uint_eq(bytes, 6);
	ck_assert_uint_eq(strings_count(arena), 2);
}
END_TEST

START_TEST(an_unknown_id_is_the_empty_string)
{
	uint32_t bytes;

	ck_assert_str_eq(strings_get(arena, 0, &bytes), "");
	ck_assert_str_eq(strings_get(arena, 1, &bytes), "");
	ck_assert_str_eq(strings_get(arena, UINT32_MAX, &bytes), "");
	ck_assert_uint_eq(bytes, 0);
}
END_TEST

START_TEST(a_long_string_is_cut)
{
	char text[3000];
	uint32_t bytes;

	memset(text, 'x', sizeof(text));
	strings_get(arena, strings_intern(arena, text, sizeof(text)), &bytes);
	ck_assert_uint_eq(bytes, STRING_BYTES_MAX);
}
END_TEST

START_TEST(a_full_table_counts_and_goes_on)
{
	char name[32];
	uint32_t last = 1;

	for (int i = 0; i < STRINGS_MAX + 100; i++) {
		uint32_t id = strings_intern(arena, name,
					     (size_t)snprintf(name, sizeof(name), "name %d", i));

		ck_assert(id == last || id == 0);
		last = id ? id + 1 : last;
	}
	ck_assert_uint_eq(strings_count(arena), STRINGS_MAX - 1);
	ck_assert_uint_ge(arena->counters[COUNTER_dropped_strings], 100);
	ck_assert_uint_ne(strings_intern(arena, "name 5", 6), 0);
}
END_TEST

static void *intern_all(void *ids)
{
	char name[32];

	for (int i = 0; i < NAMES; i++)
		((uint32_t *)ids)[i] =
			strings_intern(arena, name, (size_t)snprintf(name, sizeof(name), "n%d", i));
	return NULL;
}

START_TEST(threads_agree_on_ids)
{
	static uint32_t ids[THREADS][NAMES];
	pthread_t threads[THREADS];
	uint32_t bytes;
	char name[32];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, intern_all, ids[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int k = 0; k < NAMES; k++) {
		snprintf(name, sizeof(name), "n%d", k);
		ck_assert_str_eq(strings_get(arena, ids[0][k], &bytes), name);
		for (int i = 1; i < THREADS; i++)
			ck_assert_uint_eq(ids[i][k], ids[0][k]);
	}
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(equal_strings_have_equal_ids);
	TEST(an_unknown_id_is_the_empty_string);
	TEST(a_long_string_is_cut);
	TEST(a_full_table_counts_and_goes_on);
	TEST(threads_agree_on_ids);
}
