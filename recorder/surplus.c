/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is not needed any more. See surplus.h.
 *
 * Periods follow one another. At the end of each, the arena keeps as many empty chunks as were
 * taken in it. Memory that is used no more goes after one to two periods.
 */
#include "surplus.h"

#include "chunk.h"
#include "room.h"

#include "in_target.h"

enum {
	/* More are not made ready ahead: they are needed at once. */
	TIGHT_KEPT = 256,
	NS_PER_MS = 1000000
};

static struct {
	uint64_t begun_ns; /* 0 = no period yet */
	uint64_t taken;    /* chunks, as of then */
} period;

static void begin_period(const struct arena *arena, uint64_t now_ns)
{
	period.begun_ns = now_ns;
	period.taken = load_relaxed(&arena->turn);
}

static uint32_t count_idle(const struct arena *arena)
{
	uint32_t made = arena_chunks_made(arena), count = 0;

	for (uint32_t i = 0; i < made; i++) {
		const struct chunk *chunk = chunk_at(arena, i);

		count += (load_relaxed(&chunk->state) & CHUNK_STATES) == CHUNK_EMPTY &&
			 !load_relaxed(&chunk->is_bare);
	}
	return count;
}

void surplus_tick(struct arena *arena, uint64_t now_ns)
{
	uint64_t taken = load_relaxed(&arena->turn) - period.taken;

	if (room_state().more_bytes == 0)
		chunk_trim(arena, TIGHT_KEPT);
	if (period.begun_ns != 0 && now_ns - period.begun_ns < surplus_period_ns)
		return;
	if (period.begun_ns != 0)
		chunk_trim(arena, taken < CHUNKS_KEPT ? CHUNKS_KEPT : (uint32_t)taken);
	begin_period(arena, now_ns);
}

int surplus_wait_ms(const struct arena *arena, uint64_t now_ns)
{
	uint64_t ago_ns = now_ns - period.begun_ns, left_ns;

	if (period.begun_ns == 0 || count_idle(arena) <= CHUNKS_KEPT)
		return -1;
	left_ns = ago_ns < surplus_period_ns ? surplus_period_ns - ago_ns : 0;
	return left_ns > 0 ? 1 + (int)(left_ns / NS_PER_MS) : 0;
}

void surplus_forget(void)
{
	period.begun_ns = 0;
}
