/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that are too old. See age.h.
 *
 * Chunks are looked at in the order in which they were taken, each once: the first one that is
 * young ends the look. One that its thread goes on filling is passed over, and overwritten in its
 * turn.
 */
#include "age.h"

#include "clock.h"

#include "in_target.h"

enum { TICK_MS = 1000 };

static uint64_t due_ns;

uint64_t age_limit(const struct arena *arena, uint64_t now_ticks, uint64_t rate)
{
	uint64_t ns = (uint64_t)arena->keep_s * 1000000000, ticks;

	if (!arena->is_ring || ns == 0 || rate == 0)
		return 0;
	ticks = (uint64_t)(((unsigned __int128)ns << 32) / rate);
	return ticks < now_ticks ? now_ticks - ticks : 0;
}

bool age_is_mixed(struct snapshot *snapshot, const struct chunk *chunk, uint32_t begin,
		  uint32_t end)
{
	uint32_t at = extent_words(begin);

	return snapshot->limit_ticks > 0 &&
	       packed_read(chunk->words, &at, extent_words(end), &snapshot->seen) &&
	       snapshot->seen.end < snapshot->limit_ticks;
}

static uint32_t count_old(struct snapshot *snapshot, const struct chunk *chunk, uint32_t begin,
			  uint32_t end)
{
	uint32_t count = 0, at = extent_words(begin);

	while (packed_read(chunk->words, &at, extent_words(end), &snapshot->seen))
		count += snapshot->seen.end < snapshot->limit_ticks;
	return count;
}

void age_leave_out(struct snapshot *snapshot, const struct arena *arena)
{
	uint64_t limit = age_limit(arena, snapshot->now.ticks, snapshot->clock.mult);

	snapshot->limit_ticks = limit;
	for (uint32_t i = 0; limit > 0 && i < snapshot->chunk_count; i++) {
		struct chunk *chunk = chunk_at(arena, i);
		uint32_t end = chunk_snapshot_end(chunk);
		uint32_t begin = chunk_snapshot_begin(chunk, end);

		if (age_is_mixed(snapshot, chunk, begin, end))
			snapshot->event_count -= count_old(snapshot, chunk, begin, end);
	}
}

static bool is_old(const struct chunk *chunk, uint64_t limit)
{
	return chunk_is_full(chunk) && load_relaxed(&chunk->full_ticks) < limit;
}

uint32_t age_empty(struct arena *arena, uint64_t limit_ticks)
{
	uint32_t made = arena_chunks_made(arena), count = 0;
	uint64_t end = load_acquire(&arena->turn);
	uint64_t turn = load_relaxed(&arena->aged_turn);

	turn = turn + made < end ? end - made : turn;
	for (; made > 0 && turn < end; turn++) {
		uint32_t index = chunk_next(arena, turn, made);
		struct chunk *chunk = chunk_at(arena, index);

		if (chunk_is_full(chunk) && !is_old(chunk, limit_ticks))
			break;
		if (chunk_pin(chunk) && is_old(chunk, limit_ticks)) {
			chunk_drained(arena, index, chunk_published(chunk));
			count++;
		}
		chunk_unpin(chunk);
	}
	store_relaxed(&arena->aged_turn, turn);
	return count;
}

bool age_is_due(const struct arena *arena, uint64_t now_ns)
{
	if (!arena->is_ring || arena->keep_s == 0 || now_ns < due_ns)
		return false;
	due_ns = now_ns + TICK_MS * UINT64_C(1000000);
	return true;
}
