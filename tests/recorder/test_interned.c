/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a table in the arena takes two items for one, or believes a torn entry. */
#include "interned.h"

#include <stddef.h>

#include "recording.h"
#include "suite.h"

/* The table of stacks, with a hash that the tests choose. */
static const struct interned_table table = {
	.entries_at = ARENA_STACKS,
	.ids_at = ARENA_STACK_IDS,
	.pool_at = ARENA_STACK_POOL,
	.count_at = offsetof(struct arena, stack_count),
	.used_at = offsetof(struct arena, stack_words),
	.entries_max = 300,
	.buckets = 512,
	.pool_units = 1000,
	.unit_bytes = sizeof(uint64_t),
	.units_max = 8,
	.full = COUNTER_dropped_stacks,
};

enum { PROBES = 256 };

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

static uint32_t id_of(uint64_t hash, uint64_t value)
{
	return interned_id(arena, &table, hash, &value, 1);
}

START_TEST(items_of_one_hash_are_told_apart)
{
	for (uint32_t i = 0; i < 20; i++)
		ck_assert_uint_eq(id_of(511, 1000 + i), i + 1);
	for (uint32_t i = 0; i < 20; i++)
		ck_assert_uint_eq(id_of(511, 1000 + i), i + 1);
	ck_assert_uint_eq(interned_count(arena, &table), 20);
}
END_TEST

START_TEST(a_long_way_is_not_gone)
{
	for (uint32_t i = 0; i < PROBES; i++)
		ck_assert_uint_eq(id_of(0, 1000 + i), i + 1);
	ck_assert_uint_eq(id_of(0, 7), 0);
	ck_assert_uint_eq(arena->counters[COUNTER_dropped_stacks], 1);
	ck_assert_uint_ne(id_of(300, 7), 0);
}
END_TEST

START_TEST(a_full_pool_is_counted)
{
	const uint64_t item[8] = { 1 };
	uint32_t given = 0;

	for (uint64_t i = 0; i < 200; i++) {
		uint64_t other[8] = { i };

		given += interned_id(arena, &table, i, other, 8) != 0;
	}
	ck_assert_uint_eq(given, 1000 / 8);
	ck_assert_uint_le(arena->stack_words, 1000);
	ck_assert_uint_eq(arena->counters[COUNTER_dropped_stacks], 200 - given);
	/* One that is there goes on being found. */
	ck_assert_uint_eq(interned_id(arena, &table, 1, item, 8), 2);
}
END_TEST

START_TEST(what_is_added_is_not_looked_up)
{
	uint64_t value = 5;
	uint32_t added = interned_add(arena, &table, &value, 1);

	ck_assert_uint_eq(added, 1);
	ck_assert_uint_eq(id_of(0, value), 2);
}
END_TEST

/* Of an entry in another process's arena, which may say anything. */
static const struct {
	uint32_t offset, units;
	bool is_there;
} entries[] = {
	/* 0 */ { 0, 8, true },
	/* 1 */ { 992, 8, true },
	/* 2: not there yet */ { 0, 0, false },
	/* 3 */ { 0, 9, false },
	/* 4 */ { 993, 8, false },
	/* 5 */ { 1000, 1, false },
	/* 6 */ { UINT32_MAX, 1, false },
	/* 7 */ { 0, UINT32_MAX, false },
};

START_TEST(a_torn_entry_is_no_item)
{
	struct stack_entry *entry;
	uint32_t units;

	ck_assert_uint_eq(id_of(0, 1), 1);
	entry = (struct stack_entry *)arena_at(arena, ARENA_STACKS) + 1;
	entry->offset = entries[_i].offset;
	entry->count = entries[_i].units;
	ck_assert_int_eq(interned_get(arena, &table, 1, &units) != NULL, entries[_i].is_there);
	ck_assert_uint_eq(units, entries[_i].is_there ? entries[_i].units : 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(items_of_one_hash_are_told_apart);
	TEST(a_long_way_is_not_gone);
	TEST(a_full_pool_is_counted);
	TEST(what_is_added_is_not_looked_up);
	EACH(a_torn_entry_is_no_item, entries);
}
