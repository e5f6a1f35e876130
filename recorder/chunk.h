/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of finished records: one thread fills a chunk, the drainer hands out what is published in
 * it.
 *
 * Functions with a `struct self` are for its thread alone; chunk_drained() is for the drainer
 * alone, which holds arena.drain_owner.
 */
#ifndef WCPROF_CHUNK_H
#define WCPROF_CHUNK_H

#include "arena.h"
#include "self.h"

/* Writes a record; false when there is no room (counted). */
bool chunk_append(struct self *, const struct record *) HIDDEN;
/* The thread ends: what is left of its chunk is for the next thread. */
void chunk_hand_over(struct self *) HIDDEN;

/* Makes empty chunks ahead, until so many are ready: what the control thread has made, the
 * program's threads need not wait for. */
void chunk_prepare(struct arena *, uint32_t ready) HIDDEN;

static inline struct chunk *chunk_at(const struct arena *arena, uint32_t index)
{
	return arena_at(arena, ARENA_CHUNKS + (uint64_t)index * CHUNK_BYTES);
}

/* Everything up to `count` has been handed out: a full chunk that is empty now is used again. */
void chunk_drained(struct arena *, uint32_t index, uint32_t count) HIDDEN;

#endif
