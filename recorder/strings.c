/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of strings in an arena. See strings.h.
 *
 * Open addressing over ids: a bucket goes from 0 to an id once. The string and its entry are
 * complete before the id is put into a bucket, by compare and swap; who loses compares with the
 * winner's string.
 */
#include "strings.h"

#include <assert.h>
#include <string.h>

#include "in_target.h"

enum { PROBES_MAX = 256 };

_Static_assert((STRING_BUCKETS & (STRING_BUCKETS - 1)) == 0, "buckets are chosen by mask");
_Static_assert(STRING_BUCKETS >= 2 * STRINGS_MAX, "at most half full");

static uint64_t hash_bytes(const char *from, size_t bytes)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)from[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 29;
}

static struct string_entry *entry_at(const struct arena *arena, uint32_t id)
{
	return (struct string_entry *)arena_at(arena, ARENA_STRINGS) + id;
}

uint32_t strings_append(struct arena *arena, const char *from, size_t bytes)
{
	uint64_t entry_offset;
	uint32_t offset, id;

	assert(bytes > 0 && bytes <= STRING_BYTES_MAX);
	/* Checked before the adding too, so that neither count can ever wrap. */
	if (load_relaxed(&arena->string_bytes) > STRING_POOL_BYTES - STRING_BYTES_MAX - 1 ||
	    load_relaxed(&arena->string_count) >= STRINGS_MAX - 1)
		return 0;
	offset = add_relaxed(&arena->string_bytes, (uint32_t)bytes + 1);
	if (offset + bytes + 1 > STRING_POOL_BYTES ||
	    !arena_ready(arena, ARENA_STRING_POOL + (uint64_t)offset, bytes + 1))
		return 0;
	id = add_relaxed(&arena->string_count, 1) + 1;
	entry_offset = ARENA_STRINGS + (uint64_t)id * sizeof(struct string_entry);
	if (id >= STRINGS_MAX || !arena_ready(arena, entry_offset, sizeof(struct string_entry)))
		return 0;
	memcpy(arena_at(arena, ARENA_STRING_POOL + (uint64_t)offset), from, bytes);
	entry_at(arena, id)->offset = offset;
	/* Pairs with strings_get(): a length means that the rest is there. */
	store_release(&entry_at(arena, id)->bytes, (uint32_t)bytes);
	return id;
}

uint32_t strings_count(const struct arena *arena)
{
	uint32_t count = load_acquire(&arena->string_count);

	return count < STRINGS_MAX ? count : STRINGS_MAX - 1;
}

const char *strings_get(const struct arena *arena, uint32_t id, uint32_t *bytes)
{
	uint64_t offset = ARENA_STRINGS + (uint64_t)id * sizeof(struct string_entry);

	*bytes = 0;
	if (id == 0 || id > strings_count(arena) ||
	    !arena_granule_is_ready(arena, offset / ARENA_GRANULE_BYTES))
		return "";
	*bytes = load_acquire(&entry_at(arena, id)->bytes);
	return *bytes ? arena_at(arena, ARENA_STRING_POOL + (uint64_t)entry_at(arena, id)->offset)
		      : "";
}

static bool is_equal(const struct arena *arena, uint32_t id, const char *from, size_t bytes)
{
	uint32_t other_bytes;
	const char *other = strings_get(arena, id, &other_bytes);

	return other_bytes == bytes && memcmp(other, from, bytes) == 0;
}

uint32_t strings_intern(struct arena *arena, const char *from, size_t bytes)
{
	size_t length = bytes < STRING_BYTES_MAX ? bytes : STRING_BYTES_MAX;
	uint64_t hash = hash_bytes(from, length);
	uint32_t made = 0;

	if (length == 0)
		return 0;
	for (uint64_t probe = 0; probe < PROBES_MAX; probe++) {
		uint64_t offset =
			ARENA_STRING_IDS + (hash + probe) % STRING_BUCKETS * sizeof(uint32_t);
		uint32_t *bucket = arena_at(arena, offset);
		uint32_t found = 0;

		if (!arena_ready(arena, offset, sizeof(uint32_t)))
			break;
		found = load_acquire(bucket);
		if (found == 0) {
			if (made == 0)
				made = strings_append(arena, from, length);
			if (made == 0)
				break;
			if (cas_acq_rel(bucket, &found, made))
				return made;
		}
		if (is_equal(arena, found, from, length))
			return found;
	}
	arena_count(arena, COUNTER_dropped_strings);
	return made;
}

uint32_t string_intern(const char *from, size_t length)
{
	struct arena *arena = load_acquire(&recorder_arena);

	return arena ? strings_intern(arena, from, length) : 0;
}
