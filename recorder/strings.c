/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of strings in an arena. See strings.h; interned.c has how it works.
 */
#include "strings.h"

#include <assert.h>
#include <stddef.h>

#include "interned.h"

#include "in_target.h"

_Static_assert((STRING_BUCKETS & (STRING_BUCKETS - 1)) == 0, "buckets are chosen by mask");
_Static_assert(STRING_BUCKETS >= 2 * STRINGS_MAX, "at most half full");

static const struct interned_table table = {
	.entries_at = ARENA_STRINGS,
	.ids_at = ARENA_STRING_IDS,
	.pool_at = ARENA_STRING_POOL,
	.count_at = offsetof(struct arena, string_count),
	.used_at = offsetof(struct arena, string_bytes),
	.entries_max = STRINGS_MAX,
	.buckets = STRING_BUCKETS,
	.pool_units = STRING_POOL_BYTES,
	.unit_bytes = 1,
	.units_max = STRING_BYTES_MAX,
	.units_behind = 1,
	.full = COUNTER_dropped_strings,
};

static uint64_t hash_bytes(const char *from, size_t bytes)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)from[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 29;
}

uint32_t strings_append(struct arena *arena, const char *from, size_t bytes)
{
	assert(bytes > 0 && bytes <= STRING_BYTES_MAX);
	return interned_add(arena, &table, from, (uint32_t)bytes);
}

uint32_t strings_count(const struct arena *arena)
{
	return interned_count(arena, &table);
}

const char *strings_get(const struct arena *arena, uint32_t id, uint32_t *bytes)
{
	const char *string = interned_get(arena, &table, id, bytes);

	return string ? string : "";
}

bool strings_are_valid(const struct arena *arena)
{
	return interned_is_valid(arena, &table);
}

uint32_t strings_intern(struct arena *arena, const char *from, size_t bytes)
{
	size_t length = bytes < STRING_BYTES_MAX ? bytes : STRING_BYTES_MAX;

	return interned_id(arena, &table, hash_bytes(from, length), from, (uint32_t)length);
}

uint32_t string_intern(const char *from, size_t length)
{
	struct arena *arena = load_acquire(&recorder_arena);

	return arena ? strings_intern(arena, from, length) : 0;
}
