/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an op that ends on another thread is lost, ended twice, or taken for another
 * one. */
#include "handles.h"

#include "recording.h"
#include "suite.h"

enum { THREADS = 4, ROUNDS = 20000 };

static struct arena *arena;
static uint32_t taken;

static struct record op_named(uint32_t name)
{
	return (struct record){ .name = name, .fd = -1, .type = RECORD_OP, .what = KIND_OP_USER };
}

static bool take(uint64_t handle)
{
	struct record out;
	uint32_t index = handles_take(arena, handle, &out);

	if (index != HANDLE_NONE)
		handles_drop(arena, index);
	return index != HANDLE_NONE;
}

static void setup(void)
{
	recording_begin();
	arena = recorder_arena;
}

static void teardown(void)
{
	recording_end();
}

START_TEST(what_is_added_is_found_and_taken_once)
{
	struct record record = op_named(7), out;
	uint64_t handle = UINT64_C(3) << 32 | 9;
	uint32_t index = handles_add(arena, handle, &record);

	ck_assert_uint_ne(index, HANDLE_NONE);
	ck_assert_uint_eq(handles_find(arena, handle), index);
	ck_assert(handles_has(arena, index, handle));
	ck_assert_ptr_nonnull(handles_at(arena, index));
	ck_assert_uint_eq(handles_take(arena, handle, &out), index);
	ck_assert_uint_eq(out.name, 7);
	ck_assert_uint_eq(handles_take(arena, handle, &out), HANDLE_NONE);
	ck_assert(!handles_has(arena, index, handle));
	ck_assert_uint_eq(handles_find(arena, handle), HANDLE_NONE);
	/* For the drainer it is there until its record is. */
	ck_assert_ptr_nonnull(handles_at(arena, index));
	handles_drop(arena, index);
	ck_assert_ptr_null(handles_at(arena, index));
}
END_TEST

START_TEST(nobodys_handles_are_not_found)
{
	struct record out;

	for (uint64_t handle = 0; handle < 4; handle++) {
		ck_assert_uint_eq(handles_find(arena, handle), HANDLE_NONE);
		ck_assert_uint_eq(handles_take(arena, handle, &out), HANDLE_NONE);
	}
	ck_assert_uint_eq(handles_take(arena, UINT64_MAX, &out), HANDLE_NONE);
}
END_TEST

/* Places that are taken are gone round; one that gets free in front of others does not hide
 * them. */
START_TEST(neighbours_do_not_hide_each_other)
{
	struct record record = op_named(1);
	/* The same place to begin with: handles differ by a multiple of the table's size. */
	uint64_t first = UINT64_C(1) << 32 | 5, second = first + HANDLES_MAX,
		 third = second + HANDLES_MAX;

	ck_assert_uint_ne(handles_add(arena, first, &record), HANDLE_NONE);
	ck_assert_uint_ne(handles_add(arena, second, &record), HANDLE_NONE);
	ck_assert_uint_ne(handles_add(arena, third, &record), HANDLE_NONE);
	ck_assert(take(first));
	ck_assert_uint_ne(handles_find(arena, third), HANDLE_NONE);
	ck_assert(take(second));
	ck_assert(take(third));
}
END_TEST

START_TEST(a_full_neighbourhood_is_said)
{
	struct record record = op_named(1);
	uint64_t handle = UINT64_C(1) << 32 | 5;
	int added = 0;

	while (handles_add(arena, handle + (uint64_t)added * HANDLES_MAX, &record) != HANDLE_NONE)
		added++;
	ck_assert_int_eq(added, 64);
}
END_TEST

static void *end_what_others_begin(void *argument)
{
	uint64_t thread = *(int *)argument;
	struct record record = op_named((uint32_t)thread);

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		uint64_t own = (thread + 1) << 32 | (i + 1);

		while (handles_add(arena, own, &record) == HANDLE_NONE)
			continue;
		/* Everybody tries to end everybody's; one of them has ended it. */
		for (uint64_t other = 1; other <= THREADS; other++)
			__atomic_fetch_add(&taken, take(other << 32 | (i + 1)), __ATOMIC_RELAXED);
		__atomic_fetch_add(&taken, take(own), __ATOMIC_RELAXED);
	}
	return NULL;
}

START_TEST(one_of_many_ends_it)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];

	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, end_what_others_begin, &numbers[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(taken, THREADS * ROUNDS);
	for (uint32_t i = 0; i < HANDLES_MAX; i++)
		ck_assert_ptr_null(handles_at(arena, i));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(what_is_added_is_found_and_taken_once);
	TEST(nobodys_handles_are_not_found);
	TEST(neighbours_do_not_hide_each_other);
	TEST(a_full_neighbourhood_is_said);
	TEST(one_of_many_ends_it);
}
