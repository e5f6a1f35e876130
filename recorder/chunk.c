/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of finished records. See chunk.h and struct chunk in format.h.
 */
#include "chunk.h"

#include <assert.h>

#include "pool.h"

#include "in_target.h"

__thread uint64_t recorder_last_ticks;

static const struct pool_items chunk_items = { ARENA_CHUNKS, CHUNK_BYTES };

/* A chunk with room: what an ended thread left, an empty one, a new one. */
static bool take_chunk(struct self *self)
{
	struct arena *arena = recorder_arena;
	uint32_t index = pool_take_given(arena, &arena->partial, chunk_items);

	if (index == POOL_NONE)
		index = pool_take(arena, &arena->chunks, chunk_items);
	if (index == POOL_NONE)
		return false;
	self->chunk = chunk_at(arena, index);
	self->position = load_relaxed(&self->chunk->published);
	assert(self->position < CHUNK_RECORDS);
	store_relaxed(&self->chunk->state, CHUNK_FILLING);
	store_release(&self->slot->chunk, index + 1);
	return true;
}

static void finish_chunk(struct self *self)
{
	store_release(&self->slot->chunk, 0);
	/* Release: the drainer that sees it full sees all of it published, and may use it again. */
	store_release(&self->chunk->state, CHUNK_FULL);
	self->chunk = NULL;
}

bool chunk_append(struct self *self, const struct record *record)
{
	struct chunk *chunk = self->chunk;

	if (UNLIKELY(!chunk)) {
		if (!take_chunk(self)) {
			self_count(self, COUNTER_dropped_full);
			return false;
		}
		chunk = self->chunk;
	}
	chunk->records[self->position] = *record;
	recorder_last_ticks = record->end;
	if (UNLIKELY(record->type == RECORD_OP && record->what == KIND_THREAD))
		store_relaxed(&chunk->threads_ended, load_relaxed(&chunk->threads_ended) + 1);
	/* Pairs with load_acquire in the drainer; earlier, it would hand out a half-written
	 * record. */
	store_release(&chunk->published, ++self->position);
	if (UNLIKELY(self->position == CHUNK_RECORDS))
		finish_chunk(self);
	return true;
}

void chunk_hand_over(struct self *self)
{
	uint32_t index = load_relaxed(&self->slot->chunk);

	if (!self->chunk)
		return;
	assert(index > 0);
	store_release(&self->slot->chunk, 0);
	self->chunk = NULL;
	pool_give(recorder_arena, &recorder_arena->partial, chunk_items, index - 1);
}

void chunk_drained(struct arena *arena, uint32_t index, uint32_t count)
{
	struct chunk *chunk = chunk_at(arena, index);

	assert(chunk->drained <= count && count <= CHUNK_RECORDS);
	store_relaxed(&chunk->drained, count);
	chunk->snapshot = count;
	if (count < CHUNK_RECORDS || load_acquire(&chunk->state) != CHUNK_FULL)
		return;
	store_relaxed(&chunk->drained, 0);
	chunk->snapshot = 0;
	store_relaxed(&chunk->threads_ended, 0);
	store_relaxed(&chunk->state, CHUNK_EMPTY);
	store_release(&chunk->published, 0);
	pool_give(arena, &arena->chunks, chunk_items, index);
}

void chunk_prepare(struct arena *arena, uint32_t ready)
{
	/* The count is off by as many threads as are between two steps now; below 0 it looks
	 * enormous. */
	while (load_relaxed(&arena->chunks.given) < ready) {
		uint32_t index = pool_make(arena, &arena->chunks, chunk_items);

		if (index == POOL_NONE)
			break;
		pool_give(arena, &arena->chunks, chunk_items, index);
	}
}
