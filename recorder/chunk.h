/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of finished records: one thread fills a chunk, the drainer hands out what is published in
 * it.
 *
 * When all chunks are full, events are dropped and counted; in a ring (arena.is_ring) the oldest
 * chunk is overwritten instead. A ring has no pool of empty chunks: they are taken in turn, by
 * index. The one whose turn it is has always been the oldest. So no thread's chunk is overwritten
 * before an older one of the same thread.
 *
 * Functions with a `struct self` are for its thread alone. Those for the drainer are for the thread
 * that holds arena.drain_owner. All others are for any thread of the arena's own process.
 */
#ifndef WCPROF_CHUNK_H
#define WCPROF_CHUNK_H

#include <assert.h>

#include "arena.h"
#include "record.h"
#include "self.h"

/* Writes a record; false when there is no room (counted). */
bool chunk_append(struct self *, const struct record *) HIDDEN;
/* The same in two steps, for what is open: its entry is cleared in between. So at every moment it
 * is open or has ended, and while it is both, its record is the last in its thread's chunk. */
bool chunk_publish(struct self *, const struct record *) HIDDEN;
static inline void chunk_settle(struct self *);
/* The first step for a record that is written where it will be; NULL: no room (counted). */
static inline struct record *chunk_place(struct self *);
static inline void chunk_publish_placed(struct self *, const struct record *);
/* The thread ends: what is left of its chunk is for the next thread. */
void chunk_hand_over(struct self *) HIDDEN;

/* Makes empty chunks ahead, until so many are ready: what the control thread has made, the
 * program's threads need not wait for. */
void chunk_prepare(struct arena *, uint32_t ready) HIDDEN;
/* Gives the memory of empty chunks back to the system, all but that of so many. */
enum { CHUNKS_KEPT = 64 };
void chunk_trim(struct arena *, uint32_t kept) HIDDEN;

static inline struct chunk *chunk_at(const struct arena *arena, uint32_t index)
{
	return arena_at(arena, ARENA_CHUNKS + (uint64_t)index * CHUNK_BYTES);
}

/* Whether its counts and its state may be together. Of a chunk that nobody writes to now; it may be
 * of another process's arena, and hold anything. */
bool chunk_is_valid(const struct chunk *) HIDDEN;

/* Drainer. Keeps a chunk from being overwritten until it is unpinned; false: it is just being
 * overwritten, or empty. */
bool chunk_pin(struct chunk *) HIDDEN;
void chunk_unpin(struct chunk *) HIDDEN;

static inline uint32_t chunk_lap(const struct chunk *chunk)
{
	return load_acquire(&chunk->state) / CHUNK_LAP;
}

/* How far the dump under way has its records, and from where. The drainer's own numbers, but they
 * lie in memory that another process may overwrite. */
static inline uint32_t chunk_snapshot_end(const struct chunk *chunk)
{
	uint32_t end = load_relaxed(&chunk->snapshot);

	return end < CHUNK_RECORDS ? end : CHUNK_RECORDS;
}

static inline uint32_t chunk_snapshot_begin(const struct chunk *chunk, uint32_t end)
{
	uint32_t begin = load_relaxed(&chunk->snapshot_from);

	return begin < end ? begin : end;
}

static inline uint32_t chunk_published(const struct chunk *chunk)
{
	uint32_t published = load_acquire(&chunk->published);

	return published < CHUNK_RECORDS ? published : CHUNK_RECORDS;
}

static inline bool chunk_is_full(const struct chunk *chunk)
{
	return (load_acquire(&chunk->state) & CHUNK_STATES) == CHUNK_FULL;
}

/*
 * While a ring is dumped its threads need room. So the oldest eighth of a ring that is full is not
 * in the dump, and is overwritten meanwhile. For that a ring has a seventh more than the events
 * asked for.
 */
static inline uint64_t chunk_ring_events(uint64_t events)
{
	uint64_t chunks = (events + CHUNK_RECORDS - 1) / CHUNK_RECORDS;

	return (chunks + (chunks + 6) / 7) * CHUNK_RECORDS;
}

/* Of `made` chunks the one whose turn it is: when memory has run out, of fewer than there may
 * be. */
static inline uint32_t chunk_next(const struct arena *arena, uint64_t turn, uint32_t made)
{
	uint32_t max = load_relaxed(&arena->chunks.max);
	uint32_t index = arena->is_ring && max > 0 ? (uint32_t)(turn % max) : 0;

	return index < made ? index : made > 0 ? index % made : 0;
}

static inline uint32_t chunk_ring_room(const struct arena *arena)
{
	return arena->is_ring ? (arena->chunks.max + 7) / 8 : 0;
}

/* The rare cases of these. */
bool chunk_take(struct self *) HIDDEN;
void chunk_fill(struct self *) HIDDEN;

static inline struct record *chunk_place(struct self *self)
{
	if (UNLIKELY(!self->chunk) && !chunk_take(self))
		return NULL;
	assert(self->position < CHUNK_RECORDS);
	return &self->chunk->records[self->position];
}

static inline void chunk_publish_placed(struct self *self, const struct record *placed)
{
	struct chunk *chunk = self->chunk;

	assert(placed == &chunk->records[self->position]);
	recorder_last_ticks = placed->end;
	if (UNLIKELY(placed->type == RECORD_OP && placed->what == KIND_THREAD))
		store_relaxed(&chunk->threads_ended, load_relaxed(&chunk->threads_ended) + 1);
	/* Pairs with load_acquire in the drainer; earlier, it would hand out a half-written
	 * record. */
	store_release(&chunk->published, ++self->position);
}

static inline void chunk_settle(struct self *self)
{
	if (UNLIKELY(self->position >= CHUNK_RECORDS))
		chunk_fill(self);
}

/* Drainer. Everything up to `count` has been handed out: a full chunk that is empty now is used
 * again. In a ring it must be pinned. */
void chunk_drained(struct arena *, uint32_t index, uint32_t count) HIDDEN;
/* Everything in the snapshot has been handed out. */
void chunk_commit(struct arena *) HIDDEN;
/* The drainer before died in the middle of that: goes on for it. */
void chunk_commit_for_dead(struct arena *) HIDDEN;

#endif
