/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads' slots, living and free.
 *
 * A slot belongs to its thread from roster_claim() to roster_release(); then another thread may
 * have it. A thread that died without a word is buried by the drainer.
 */
#ifndef WCPROF_ROSTER_H
#define WCPROF_ROSTER_H

#include "arena.h"

/* A free slot for the thread with this index and tid; NULL: all are taken, or no memory. */
struct slot *roster_claim(struct arena *, uint32_t thread, uint32_t tid, uint64_t op) HIDDEN;
/* Its counters are added to the arena's. */
void roster_release(struct arena *, struct slot *) HIDDEN;

static inline struct slot *roster_slot(const struct arena *arena, uint32_t index)
{
	return arena_at(arena, ARENA_ROSTER + (uint64_t)index * SLOT_BYTES);
}

/* No other thread that is there has it. */
static inline uint64_t roster_index_of(const struct arena *arena, const struct slot *slot)
{
	return (uint64_t)(slot - (const struct slot *)arena_at(arena, ARENA_ROSTER));
}

static inline uint32_t roster_made(const struct arena *arena)
{
	uint32_t made = load_acquire(&arena->slots.made);

	return made < ROSTER_SLOTS ? made : ROSTER_SLOTS;
}

/* Of all threads together, and of nobody. */
uint64_t roster_counter(const struct arena *, enum counter) HIDDEN;
uint32_t roster_living(const struct arena *) HIDDEN;
/* Whether a thread with that op lives. */
bool roster_has(const struct arena *, uint64_t op) HIDDEN;

/* In the arena's own process: notes how its threads are called by now. */
void roster_note_names(struct arena *) HIDDEN;

/* Drainer, in the arena's own process: frees the slots of threads that are no more. Their open ops
 * and waits are written as records that end now, outcome canceled. */
void roster_bury_dead(struct arena *) HIDDEN;

#endif
