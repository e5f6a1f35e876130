/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that are too old. See age.h.
 *
 * A ring's chunks are looked at in the order in which they were taken, each once: the first one
 * that is young ends the look. One that its thread goes on filling is passed over, and overwritten
 * in its turn. Elsewhere chunks have no order, and all are looked at each time: their heads, that
 * is.
 */
#include "age.h"

#include "clock.h"

#include "in_target.h"

enum { TICK_MS = 1000, SECOND_NS = 1000000000 };

static uint64_t due_ns;

/* 0: that is before all times, or nothing is too old. */
static uint64_t ticks_before(uint64_t now_ticks, uint64_t ns, uint64_t rate)
{
	uint64_t ticks;

	if (ns == 0 || rate == 0)
		return 0;
	ticks = (uint64_t)(((unsigned __int128)ns << 32) / rate);
	return ticks < now_ticks ? now_ticks - ticks : 0;
}

uint64_t age_limit(const struct arena *arena, uint64_t now_ticks, uint64_t rate)
{
	return ticks_before(now_ticks, (uint64_t)load_relaxed(&arena->keep_s) * SECOND_NS, rate);
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

void age_leave_out(struct snapshot *snapshot, const struct arena *arena, uint64_t last_ns)
{
	uint64_t now = snapshot->now.ticks, rate = snapshot->clock.mult;
	uint64_t limit = age_limit(arena, now, rate);
	uint64_t asked = ticks_before(now, last_ns, rate);

	limit = limit > asked ? limit : asked;
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

/* Whether it was emptied. */
static bool empty(struct arena *arena, uint32_t index, uint64_t limit_ticks)
{
	struct chunk *chunk = chunk_at(arena, index);
	bool is_empty = false;

	if (chunk_pin(chunk) && is_old(chunk, limit_ticks)) {
		chunk_drained(arena, index, chunk_published(chunk));
		is_empty = true;
	}
	chunk_unpin(chunk);
	return is_empty;
}

static uint32_t empty_in_turn(struct arena *arena, uint64_t limit_ticks)
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
		count += empty(arena, index, limit_ticks);
	}
	store_relaxed(&arena->aged_turn, turn);
	return count;
}

static uint32_t empty_all(struct arena *arena, uint64_t limit_ticks)
{
	uint32_t made = arena_chunks_made(arena), count = 0;

	for (uint32_t i = 0; i < made; i++)
		if (is_old(chunk_at(arena, i), limit_ticks))
			count += empty(arena, i, limit_ticks);
	return count;
}

uint32_t age_empty(struct arena *arena, uint64_t limit_ticks)
{
	uint32_t count =
		arena->is_ring ? empty_in_turn(arena, limit_ticks) : empty_all(arena, limit_ticks);

	/* Events that have gone are in no later dump, even if more seconds are kept by then. */
	if (count > 0 && load_relaxed(&arena->dumped_ticks) < limit_ticks)
		store_relaxed(&arena->dumped_ticks, limit_ticks);
	return count;
}

bool age_is_due(const struct arena *arena, uint64_t now_ns)
{
	if (load_relaxed(&arena->keep_s) == 0 || now_ns < due_ns)
		return false;
	due_ns = now_ns + TICK_MS * UINT64_C(1000000);
	return true;
}
