/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of call stacks in an arena. See stacks.h.
 *
 * Built like the table of strings: open addressing over ids, a bucket goes from 0 to an id once, by
 * compare and swap, when the stack and its entry are complete.
 */
#include "stacks.h"

#include <assert.h>
#include <string.h>

#include "arena.h"

#include "in_target.h"

enum { PROBES_MAX = 256 };

_Static_assert((STACK_BUCKETS & (STACK_BUCKETS - 1)) == 0, "buckets are chosen by mask");

static uint64_t hash_frames(const uint64_t *pcs, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++) {
		hash = (hash ^ pcs[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

static struct stack_entry *entry_at(const struct arena *arena, uint32_t id)
{
	return (struct stack_entry *)arena_at(arena, ARENA_STACKS) + id;
}

static uint32_t append(struct arena *arena, const uint64_t *pcs, uint32_t count)
{
	uint64_t bytes = (uint64_t)count * sizeof(uint64_t);
	uint64_t entry_offset;
	uint32_t offset, id;

	if (load_relaxed(&arena->stack_words) > STACK_POOL_WORDS - STACK_FRAMES_MAX ||
	    load_relaxed(&arena->stack_count) >= STACKS_MAX - 1)
		return 0;
	offset = add_relaxed(&arena->stack_words, count);
	if (offset + count > STACK_POOL_WORDS ||
	    !arena_ready(arena, ARENA_STACK_POOL + offset * sizeof(uint64_t), bytes))
		return 0;
	id = add_relaxed(&arena->stack_count, 1) + 1;
	entry_offset = ARENA_STACKS + id * sizeof(struct stack_entry);
	if (id >= STACKS_MAX || !arena_ready(arena, entry_offset, sizeof(struct stack_entry)))
		return 0;
	memcpy(arena_at(arena, ARENA_STACK_POOL + offset * sizeof(uint64_t)), pcs, bytes);
	entry_at(arena, id)->offset = offset;
	/* Pairs with stacks_get(): a count means that the frames are there. */
	store_release(&entry_at(arena, id)->count, count);
	return id;
}

uint32_t stacks_count(const struct arena *arena)
{
	uint32_t count = load_acquire(&arena->stack_count);

	return count < STACKS_MAX ? count : STACKS_MAX - 1;
}

const uint64_t *stacks_get(const struct arena *arena, uint32_t id, uint32_t *count)
{
	uint64_t offset = ARENA_STACKS + id * sizeof(struct stack_entry);

	*count = 0;
	if (id == 0 || id > stacks_count(arena) ||
	    !arena_granule_is_ready(arena, offset / ARENA_GRANULE_BYTES))
		return NULL;
	*count = load_acquire(&entry_at(arena, id)->count);
	return arena_at(arena, ARENA_STACK_POOL + entry_at(arena, id)->offset * sizeof(uint64_t));
}

static bool is_equal(const struct arena *arena, uint32_t id, const uint64_t *pcs, uint32_t count)
{
	uint32_t other_count;
	const uint64_t *other = stacks_get(arena, id, &other_count);

	return other_count == count && memcmp(other, pcs, count * sizeof(uint64_t)) == 0;
}

uint32_t stacks_intern(struct arena *arena, const uint64_t *pcs, uint32_t count)
{
	uint64_t hash = hash_frames(pcs, count);
	uint32_t made = 0;

	assert(count <= STACK_FRAMES_MAX);
	if (count == 0)
		return 0;
	for (uint64_t probe = 0; probe < PROBES_MAX; probe++) {
		uint64_t offset =
			ARENA_STACK_IDS + (hash + probe) % STACK_BUCKETS * sizeof(uint32_t);
		uint32_t *bucket = arena_at(arena, offset);
		uint32_t found = 0;

		if (!arena_ready(arena, offset, sizeof(uint32_t)))
			break;
		found = load_acquire(bucket);
		if (found == 0) {
			if (made == 0)
				made = append(arena, pcs, count);
			if (made == 0)
				break;
			if (cas_acq_rel(bucket, &found, made))
				return made;
		}
		if (is_equal(arena, found, pcs, count))
			return found;
	}
	arena_count(arena, COUNTER_dropped_stacks);
	return made;
}

uint32_t stack_intern(const uint64_t *pcs, uint32_t count)
{
	struct arena *arena = load_acquire(&recorder_arena);

	return arena ? stacks_intern(arena, pcs, count) : 0;
}
