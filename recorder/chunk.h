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
#include "packed.h"
#include "record.h"
#include "self.h"

/* Writes a record; false when there is no room (counted). */
bool chunk_append(struct self *, const struct record *) HIDDEN;
/* The same in two steps, for what is open: its entry is cleared in between. So at every moment it
 * is open or has ended, and while it is both, its record is the last in its thread's chunk. */
static inline bool chunk_publish(struct self *, const struct record *);
/* The same of a record that was just composed. */
static inline void chunk_publish_composed(struct self *, const struct record *);
/* The same where chunk_is_there(), of one that lacks what became known at its end: type and fd,
 * type << 32 | fd. */
void chunk_publish_ended(struct self *, const struct record *, uint64_t end, uint64_t id,
			 uint64_t value, uint64_t type_and_fd) HIDDEN;
static inline void chunk_settle(struct self *);
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
 * of another process's arena, and hold anything. In arena_valid.c. */
bool chunk_is_valid(const struct chunk *) HIDDEN;

/* Drainer. Keeps a chunk from being overwritten until it is unpinned; false: it is just being
 * overwritten, or empty. */
bool chunk_pin(struct chunk *) HIDDEN;
void chunk_unpin(struct chunk *) HIDDEN;

static inline uint32_t chunk_lap(const struct chunk *chunk)
{
	return load_acquire(&chunk->state) / CHUNK_LAP;
}

/* An extent that lies in a chunk, whatever this one is. */
static inline uint32_t chunk_extent(uint32_t extent)
{
	uint32_t words = extent_words(extent), records = extent_records(extent);

	words = words < CHUNK_WORDS ? words : CHUNK_WORDS;
	records = records < words / PACKED_LEAST ? records : words / PACKED_LEAST;
	return records * EXTENT_RECORD + words;
}

/* The same of one that is no further than `end`: the two were not read in one moment. */
static inline uint32_t chunk_begin(uint32_t extent, uint32_t end)
{
	uint32_t begin = chunk_extent(extent);
	bool is_before = extent_words(begin) <= extent_words(end) &&
			 extent_records(begin) <= extent_records(end);

	return is_before ? begin : end;
}

/* Whether there is no room for another record: it may be a whole one. */
static inline bool chunk_has_no_room(uint32_t extent)
{
	return extent_words(extent) > CHUNK_WORDS - RECORD_WORDS;
}

/* How far the dump under way has its records, and from where. The drainer's own numbers, but they
 * lie in memory that another process may overwrite. */
static inline uint32_t chunk_snapshot_end(const struct chunk *chunk)
{
	return chunk_extent(load_relaxed(&chunk->snapshot));
}

static inline uint32_t chunk_snapshot_begin(const struct chunk *chunk, uint32_t end)
{
	return chunk_begin(load_relaxed(&chunk->snapshot_from), end);
}

static inline uint32_t chunk_published(const struct chunk *chunk)
{
	return chunk_extent(load_acquire(&chunk->published));
}

static inline enum chunk_state chunk_state_of(const struct chunk *chunk)
{
	return (enum chunk_state)(load_acquire(&chunk->state) & CHUNK_STATES);
}

static inline bool chunk_is_full(const struct chunk *chunk)
{
	return chunk_state_of(chunk) == CHUNK_FULL;
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

/* chunk_publish_ended() where no base is found at once. */
void chunk_publish_unlike(struct self *, const struct record *, uint64_t end, uint64_t id,
			  uint64_t value, uint64_t type_and_fd) HIDDEN;

/* Whether the thread has a chunk, or takes one now. Called from where little of the stack is in
 * use: taking one needs much of it. */
static inline bool chunk_is_there(struct self *self)
{
	return LIKELY(self->chunk != NULL) || chunk_take(self);
}

/* Words were written behind the others, `used` of them. */
static inline void chunk_publish_words(struct self *self, uint32_t used, uint64_t end_ticks)
{
	recorder_last_ticks = end_ticks;
	/* The words are written, and this comes before what is published: a jump out of a handler
	 * may follow each. */
	order_for_handlers();
	self->position += EXTENT_RECORD + used;
	/* Pairs with load_acquire in the drainer; earlier, it would hand out a half-written
	 * record. */
	store_release(&self->chunk->published, self->position);
}

/* False: no base was found at once, and nothing was written. */
static inline __attribute__((always_inline)) bool chunk_publish_next(struct self *self,
								     const struct record *record,
								     struct packed_end ended)
{
	uint32_t used;

	assert(!chunk_has_no_room(self->position));
	used = packed_write_next(self->chunk->words, extent_words(self->position),
				 self->slot->bases, record, ended);
	if (UNLIKELY(used == 0))
		return false;
	chunk_publish_words(self, used, ended.end);
	return true;
}

static inline bool chunk_publish(struct self *self, const struct record *record)
{
	if (!chunk_is_there(self))
		return false;
	chunk_publish_ended(self, record, record->end, record->id, record->value,
			    (uint32_t)record->fd | (uint64_t)packed_type(record) << 32);
	return true;
}

static inline __attribute__((always_inline)) void chunk_publish_composed(
	struct self *self, const struct record *record)
{
	struct record kept;

	if (LIKELY(self->chunk) && LIKELY(chunk_publish_next(self, record, packed_end_of(record))))
		return;
	/* A copy: so the record itself stays in registers. */
	kept = *record;
	if (chunk_is_there(self))
		chunk_publish_unlike(self, &kept, kept.end, kept.id, kept.value,
				     (uint32_t)kept.fd | (uint64_t)packed_type(&kept) << 32);
}

static inline void chunk_settle(struct self *self)
{
	if (UNLIKELY(chunk_has_no_room(self->position)))
		chunk_fill(self);
}

/* A thread's op has ended: its record comes next. */
static inline void chunk_count_thread(struct chunk *chunk)
{
	store_relaxed(&chunk->threads_ended, load_relaxed(&chunk->threads_ended) + 1);
}

/* Drainer. Everything up to an extent has been handed out: a full chunk that is empty now is used
 * again. In a ring it must be pinned. */
void chunk_drained(struct arena *, uint32_t index, uint32_t extent) HIDDEN;
/* Everything in the snapshot has been handed out. */
void chunk_commit(struct arena *) HIDDEN;
/* The drainer before died in the middle of that: goes on for it. */
void chunk_commit_for_dead(struct arena *) HIDDEN;

#endif
