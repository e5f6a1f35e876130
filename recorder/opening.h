/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Openings: the times in which the gate is open, and calls of the program are recorded, numbered
 * from 1.
 *
 * Each thread's slot says of which opening its entries are, and each watch of which its holder is.
 * An entry of an opening that has ended was cut off with it. So nobody has to find all that is open
 * at that moment: a number tells it, whenever somebody looks.
 *
 * Written by the owner of the switch; read by any thread, also of another process.
 */
#ifndef WCPROF_OPENING_H
#define WCPROF_OPENING_H

#include "arena.h"

/* Before the gate opens: whoever sees it open sees the new number. */
static inline void opening_begin(struct arena *arena, uint64_t now_ticks)
{
	uint32_t opening = load_relaxed(&arena->openings) + 1;

	store_relaxed(&arena->closed_ticks[opening % OPENINGS_KEPT], 0);
	store_relaxed(&arena->opened_ticks[opening % OPENINGS_KEPT], now_ticks);
	/* Pairs with opening_now(): the rest of it is there. */
	store_release(&arena->openings, opening);
}

/* Before the gate closes: whoever sees it closed sees when that was. */
static inline void opening_end(struct arena *arena, uint64_t now_ticks)
{
	uint32_t opening = load_relaxed(&arena->openings);

	store_release(&arena->closed_ticks[opening % OPENINGS_KEPT], now_ticks);
}

/* The present one, or the last. */
static inline uint32_t opening_now(const struct arena *arena)
{
	return load_acquire(&arena->openings);
}

/* When the present one began, or the last. */
static inline uint64_t opening_begun(const struct arena *arena)
{
	return load_relaxed(&arena->opened_ticks[opening_now(arena) % OPENINGS_KEPT]);
}

/* Whether it goes on. */
static inline bool opening_is_on(const struct arena *arena)
{
	uint32_t opening = opening_now(arena);

	return opening > 0 && load_acquire(&arena->closed_ticks[opening % OPENINGS_KEPT]) == 0;
}

/* When this opening began and ended, 0 = it goes on. False: too long ago to be known. */
static inline bool opening_times(const struct arena *arena, uint32_t opening, uint64_t *opened,
				 uint64_t *closed)
{
	*opened = load_acquire(&arena->opened_ticks[opening % OPENINGS_KEPT]);
	*closed = load_acquire(&arena->closed_ticks[opening % OPENINGS_KEPT]);
	/* The process began with the arena: what it did until the gate was open counts. */
	if (opening == 1)
		*opened = arena->clock.base.ticks;
	/* Looked at afterwards, as below. */
	return opening_now(arena) - opening < OPENINGS_KEPT;
}

/*
 * When what began then in this opening was cut off; 0 = it was not. Of an opening long ago that is
 * not known any more: at once.
 */
static inline uint64_t opening_cut(const struct arena *arena, uint32_t opening,
				   uint64_t start_ticks)
{
	uint64_t closed = load_acquire(&arena->closed_ticks[opening % OPENINGS_KEPT]);

	/* Looked at afterwards: meanwhile the place may have become another one's. */
	if (opening_now(arena) - opening >= OPENINGS_KEPT)
		return start_ticks;
	return closed == 0 || closed > start_ticks ? closed : start_ticks;
}

/* For how long recording was on between these two, as far as openings are known. */
static inline uint64_t opening_sum(const struct arena *arena, uint64_t from, uint64_t to)
{
	uint64_t sum = 0, begun, ended;

	for (uint32_t i = opening_now(arena); i > 0; i--) {
		if (!opening_times(arena, i, &begun, &ended))
			break;
		if (ended == 0 || ended > to)
			ended = to;
		if (ended <= from)
			break;
		begun = begun > from ? begun : from;
		sum += begun < ended ? ended - begun : 0;
	}
	return sum;
}

#endif
