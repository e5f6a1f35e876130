/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of call stacks in an arena. See stacks.h; interned.c has how it works.
 */
#include "stacks.h"

#include <assert.h>
#include <stddef.h>

#include "arena.h"
#include "interned.h"

#include "in_target.h"

_Static_assert((STACK_BUCKETS & (STACK_BUCKETS - 1)) == 0, "buckets are chosen by mask");

static const struct interned_table table = {
	.entries_at = ARENA_STACKS,
	.ids_at = ARENA_STACK_IDS,
	.pool_at = ARENA_STACK_POOL,
	.count_at = offsetof(struct arena, stack_count),
	.used_at = offsetof(struct arena, stack_words),
	.entries_max = STACKS_MAX,
	.buckets = STACK_BUCKETS,
	.pool_units = STACK_POOL_WORDS,
	.unit_bytes = sizeof(uint64_t),
	.units_max = STACK_FRAMES_MAX,
	.full = COUNTER_dropped_stacks,
};

static uint64_t hash_frames(const uint64_t *pcs, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++) {
		hash = (hash ^ pcs[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

uint32_t stacks_count(const struct arena *arena)
{
	return interned_count(arena, &table);
}

const uint64_t *stacks_get(const struct arena *arena, uint32_t id, uint32_t *count)
{
	return interned_get(arena, &table, id, count);
}

bool stacks_are_valid(const struct arena *arena)
{
	return interned_is_valid(arena, &table);
}

uint32_t stacks_intern(struct arena *arena, const uint64_t *pcs, uint32_t count)
{
	assert(count <= STACK_FRAMES_MAX);
	return interned_id(arena, &table, hash_frames(pcs, count), pcs, count);
}

uint32_t stack_intern(const uint64_t *pcs, uint32_t count)
{
	struct arena *arena = load_acquire(&recorder_arena);

	return arena ? stacks_intern(arena, pcs, count) : 0;
}
