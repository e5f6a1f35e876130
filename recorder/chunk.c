/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of finished records. See chunk.h and struct chunk in format.h.
 *
 * A chunk's life: EMPTY -> FILLING (its owner's) -> FULL -> EMPTY (by the drainer), or in a ring
 * FULL -> CLAIMED -> FILLING (by who overwrites it). CLAIMED keeps everybody else away while what
 * describes the contents changes; a drainer leaves it out. Whoever may change the state flips its
 * bits and leaves the drainer's pin as it is.
 */
#include "chunk.h"

#include <assert.h>
#include <sys/mman.h>

#include "clock.h"
#include "pool.h"
#include "meter.h"
#include "room.h"
#include "syscalls.h"

#include "in_target.h"

__thread uint64_t recorder_last_ticks;

enum {
	BARE_BYTES = CHUNK_BYTES - CHUNK_BARED_BYTES, /* kept by one that is bare */
	TURNS_TRIED = 64                              /* chunks that others fill */
};
static const struct pool_items chunk_items = { ARENA_CHUNKS, CHUNK_BYTES };

/* --- States ---------------------------------------------------------------------------------- */

/* From a state that only the caller may change. Release: whoever sees the new state sees what was
 * done before; acquire: what follows is not done before. */
static void change_state(struct chunk *chunk, enum chunk_state from, enum chunk_state to)
{
	uint32_t before = xor_acq_rel(&chunk->state, (uint32_t)from ^ (uint32_t)to);

	assert((before & CHUNK_STATES) == from);
	(void)before;
}

/* Claims a chunk that is in this state; false when it is not any more. */
static bool claim_from(struct chunk *chunk, enum chunk_state from)
{
	uint32_t state = load_acquire(&chunk->state);

	while ((state & CHUNK_STATES) == (uint32_t)from)
		if (cas_acq_rel(&chunk->state, &state, state | CHUNK_CLAIMED))
			return true;
	return false;
}

bool chunk_pin(struct chunk *chunk)
{
	/* Acquire: pairs with change_state(): a chunk that is not claimed is as it was left. */
	uint32_t before = or_acq_rel(&chunk->state, CHUNK_PINNED);

	return (before & CHUNK_STATES) != CHUNK_CLAIMED;
}

void chunk_unpin(struct chunk *chunk)
{
	/* Release: pairs with the exchange in claim_in_turn(); without it, the next owner would
	 * write to records that are being read. */
	(void)and_release(&chunk->state, ~(uint32_t)CHUNK_PINNED);
}

/* --- Memory ---------------------------------------------------------------------------------- */

static bool restore_memory(struct arena *arena, struct chunk *chunk, uint32_t index)
{
	uint64_t offset = ARENA_CHUNKS + (uint64_t)index * CHUNK_BYTES;

	if (!chunk->is_bare)
		return true;
	if (!arena_populate(arena, offset + BARE_BYTES, CHUNK_BARED_BYTES))
		return false;
	store_relaxed(&chunk->is_bare, 0);
	add_relaxed(&arena->bare_chunks, UINT32_MAX);
	return true;
}

static void release_memory(struct arena *arena, struct chunk *chunk)
{
	int advice = arena->anonymous ? MADV_DONTNEED : MADV_REMOVE;

	if (chunk->is_bare ||
	    sys_madvise((char *)chunk + BARE_BYTES, CHUNK_BARED_BYTES, advice) != 0)
		return;
	room_give(CHUNK_BARED_BYTES);
	store_relaxed(&chunk->is_bare, 1);
	add_relaxed(&arena->bare_chunks, 1);
}

/* --- Rings ----------------------------------------------------------------------------------- */

/* Whose turn it is; makes it if it is a new one's. */
static uint32_t turn_index(struct arena *arena, uint64_t turn)
{
	uint32_t made;

	if (turn % arena->chunks.max >= load_acquire(&arena->chunks.made))
		(void)pool_make(arena, &arena->chunks, chunk_items);
	/* Pairs with the exchange in pool_make(): chunks below it have memory. */
	made = load_acquire(&arena->chunks.made);
	return made > 0 ? chunk_next(arena, turn, made) : POOL_NONE;
}

/*
 * Claims the chunk whose turn it is. POOL_NONE: it waits for a dump, or all are being filled.
 *
 * The state is read while the turn is the chunk's, and claimed only if it is that very state still,
 * laps and all. Otherwise a thread that slept for a whole lap would take one of the newest.
 */
static uint32_t claim_in_turn(struct arena *arena, bool *was_full)
{
	uint64_t turn = load_acquire(&arena->turn);

	for (int i = 0; i < TURNS_TRIED; i++) {
		uint32_t index = turn_index(arena, turn);
		struct chunk *chunk = index == POOL_NONE ? NULL : chunk_at(arena, index);
		/* The turn is read again after the state: acquire keeps that order. */
		uint32_t state = chunk ? load_acquire(&chunk->state) : CHUNK_FULL | CHUNK_PINNED;
		uint32_t what = state & (CHUNK_STATES | CHUNK_PINNED);
		uint64_t turn_now = load_acquire(&arena->turn);
		bool claimed = false;

		if (turn_now != turn) {
			turn = turn_now;
			continue;
		}
		if (what == (CHUNK_FULL | CHUNK_PINNED))
			return POOL_NONE;
		*was_full = what == CHUNK_FULL;
		/* Acquire: pairs with chunk_unpin(): the drainer has read all that it wanted. */
		if (*was_full || (what & CHUNK_STATES) == CHUNK_EMPTY) {
			claimed = cas_acq_rel(&chunk->state, &state, state | CHUNK_CLAIMED);
			if (!claimed)
				continue; /* somebody was faster, or it is pinned now */
		}
		/* Whoever finds it claimed, or being filled, does the same. */
		if (cas_acq_rel(&arena->turn, &turn, turn + 1))
			turn++;
		if (claimed)
			return index;
	}
	return POOL_NONE;
}

/*
 * Another process's drainer has died: nobody reads the chunks that it has pinned. First the dead
 * drainer's commit is finished; otherwise its events would be subtracted twice from `overwritten`.
 */
static bool unpin_for_dead(struct arena *arena)
{
	uint32_t owner = load_acquire(&arena->drain_owner);
	uint32_t made;

	if (!(owner & DRAIN_DIED) ||
	    !cas_acq_rel(&arena->drain_owner, &owner, (uint32_t)sys_gettid()))
		return false;
	chunk_commit_for_dead(arena);
	made = arena_chunks_made(arena);
	for (uint32_t i = 0; i < made; i++)
		chunk_unpin(chunk_at(arena, i));
	/* Pairs with snapshot_lock(): the next drainer finds nothing half said. */
	store_release(&arena->drain_owner, 0);
	return true;
}

static uint32_t take_in_turn(struct self *self)
{
	struct arena *arena = recorder_arena;
	bool was_full = false;
	uint32_t index = claim_in_turn(arena, &was_full);
	struct chunk *chunk;

	if (index == POOL_NONE && unpin_for_dead(arena))
		index = claim_in_turn(arena, &was_full);
	if (index == POOL_NONE)
		return POOL_NONE;
	chunk = chunk_at(arena, index);
	if (was_full && load_relaxed(&chunk->drained) < load_relaxed(&chunk->published)) {
		self_count_many(self, COUNTER_overwritten,
				extent_records(load_relaxed(&chunk->published)) -
					extent_records(load_relaxed(&chunk->drained)));
		store_relaxed(&chunk->lost_ticks, load_relaxed(&chunk->full_ticks));
	}
	/* Nobody believes a CLAIMED chunk. Lap first: chunk_commit() of a drainer that wrote the
	 * old records out must not take the new ones for them. */
	add_relaxed(&chunk->state, CHUNK_LAP);
	store_relaxed(&chunk->threads_ended, 0);
	/* `drained` before `published`: who dies in between leaves drained <= published. */
	store_relaxed(&chunk->drained, 0);
	store_release(&chunk->published, 0);
	if (!restore_memory(arena, chunk, index)) {
		change_state(chunk, CHUNK_CLAIMED, CHUNK_EMPTY);
		return POOL_NONE;
	}
	change_state(chunk, CHUNK_CLAIMED, CHUNK_FILLING);
	return index;
}

/* --- Pools ----------------------------------------------------------------------------------- */

/* One that has memory: given back, then one whose memory comes back, then a new one. */
static uint32_t take_empty(struct arena *arena)
{
	uint32_t index = pool_take_given(arena, &arena->chunks, chunk_items);

	if (index == POOL_NONE) {
		index = pool_take_given(arena, &arena->bare, chunk_items);
		if (index != POOL_NONE && !restore_memory(arena, chunk_at(arena, index), index)) {
			pool_give(arena, &arena->bare, chunk_items, index);
			return POOL_NONE;
		}
	}
	return index != POOL_NONE ? index : pool_make(arena, &arena->chunks, chunk_items);
}

static uint32_t take_from_pool(void)
{
	struct arena *arena = recorder_arena;
	uint32_t index = take_empty(arena);

	if (index == POOL_NONE)
		return POOL_NONE;
	add_relaxed(&arena->turn, 1);
	change_state(chunk_at(arena, index), CHUNK_EMPTY, CHUNK_FILLING);
	return index;
}

_Static_assert(COUNTER_held_addresses - COUNTER_held_cgroup == ROOM_ADDRESSES - ROOM_CGROUP,
	       "counters and rules are in one order");

/* --- The owner ------------------------------------------------------------------------------- */

/*
 * A chunk that an ended thread left, else an empty one, else an old one. In a ring a thread that
 * has filled a chunk takes none that was left: its next one must not be overwritten before that.
 */
static bool take_chunk(struct self *self)
{
	struct arena *arena = recorder_arena;
	uint32_t index = POOL_NONE;

	if (!arena->is_ring || !chunk_has_no_room(self->position))
		index = pool_take_given(arena, &arena->partial, chunk_items);
	if (index == POOL_NONE)
		index = arena->is_ring ? take_in_turn(self) : take_from_pool();
	if (index == POOL_NONE)
		return false;
	/* A handler may jump away: what the thread knows of the chunk comes before it has it. */
	self->position = load_relaxed(&chunk_at(arena, index)->published);
	for (uint32_t i = 0; i < PACKED_BASES; i++)
		self->slot->bases[i] = 0;
	assert(!chunk_has_no_room(self->position));
	order_for_handlers();
	self->chunk = chunk_at(arena, index);
	meter_chunk_taken(self);
	/* Pairs with the loads in opens.c and roster.c: the chunk is being filled already. */
	store_release(&self->slot->chunk, index + 1);
	return true;
}

bool chunk_take(struct self *self)
{
	struct slow_path path = short_path_begin(self);
	bool is_taken = take_chunk(self);
	enum room_rule rule;

	short_path_end(self, &path);
	if (is_taken)
		return true;
	self_count(self, COUNTER_dropped_full);
	rule = room_refuses(load_relaxed(&recorder_arena->chunks.made) >=
			    recorder_arena->chunks.max);
	if (rule != ROOM_FREE)
		self_count(self, (enum counter)(COUNTER_held_cgroup + rule - ROOM_CGROUP));
	return false;
}

void chunk_fill(struct self *self)
{
	if (!self->chunk)
		return;
	meter_chunk_left(self);
	/* Before the state: no slot has a chunk that is not being filled. */
	store_release(&self->slot->chunk, 0);
	/* A drainer reads it while the next owner writes. */
	store_relaxed(&self->chunk->full_ticks, clock_now_ticks());
	/* The drainer that sees it full sees all of it published, and may use it again. */
	change_state(self->chunk, CHUNK_FILLING, CHUNK_FULL);
	self->chunk = NULL;
}

static struct packed_end end_of(uint64_t end, uint64_t id, uint64_t value, uint64_t type_and_fd)
{
	return (struct packed_end){ end, id, value, (uint32_t)(type_and_fd >> 32),
				    (int32_t)(uint32_t)type_and_fd };
}

/* Not inlined: so the frequent case keeps on the stack only what it needs. */
__attribute__((noinline, cold)) void chunk_publish_unlike(struct self *self,
							  const struct record *record, uint64_t end,
							  uint64_t id, uint64_t value,
							  uint64_t type_and_fd)
{
	struct packed_end ended = end_of(end, id, value, type_and_fd);
	uint32_t at = extent_words(self->position), used, place;

	used = packed_write(self->chunk->words, at, self->slot->bases, record, &ended, &place);
	chunk_publish_words(self, used, end);
	if (used == RECORD_WORDS)
		self->slot->bases[place] = (uint16_t)at;
}

void chunk_publish_ended(struct self *self, const struct record *record, uint64_t end, uint64_t id,
			 uint64_t value, uint64_t type_and_fd)
{
	if (UNLIKELY(!chunk_publish_next(self, record, end_of(end, id, value, type_and_fd))))
		chunk_publish_unlike(self, record, end, id, value, type_and_fd);
}

bool chunk_append(struct self *self, const struct record *record)
{
	bool is_written = chunk_publish(self, record);

	chunk_settle(self);
	return is_written;
}

void chunk_hand_over(struct self *self)
{
	uint32_t index = load_relaxed(&self->slot->chunk);

	if (!self->chunk)
		return;
	assert(index > 0);
	meter_chunk_left(self);
	/* Before the chunk is in the pool, from which another thread may take it. */
	store_release(&self->slot->chunk, 0);
	self->chunk = NULL;
	pool_give(recorder_arena, &recorder_arena->partial, chunk_items, index - 1);
}

/* --- The drainer ----------------------------------------------------------------------------- */

void chunk_drained(struct arena *arena, uint32_t index, uint32_t extent)
{
	struct chunk *chunk = chunk_at(arena, index);

	assert(index < arena->chunks_most && extent == chunk_extent(extent));
	store_relaxed(&chunk->drained, extent);
	/* Release: it is drained before that is said. Before the chunk is used again: whoever goes
	 * on for a dead drainer would take what was written since for what was handed out. */
	store_release(&chunk->snapshot, 0);
	if (!chunk_has_no_room(extent) || !claim_from(chunk, CHUNK_FULL))
		return;
	store_relaxed(&chunk->drained, 0);
	store_relaxed(&chunk->threads_ended, 0);
	/* Last, as in take_in_turn(). */
	store_release(&chunk->published, 0);
	(void)and_release(&chunk->state, ~(uint32_t)CHUNK_STATES);
	if (!arena->is_ring)
		pool_give(arena, &arena->chunks, chunk_items, index);
}

/* A chunk that was overwritten since it was written out has lost no event. */
static void commit_chunk(struct arena *arena, uint32_t index)
{
	struct chunk *chunk = chunk_at(arena, index);
	uint32_t end = chunk_snapshot_end(chunk);
	uint64_t handed_out =
		extent_records(end) - extent_records(chunk_snapshot_begin(chunk, end));

	if (chunk_pin(chunk) && chunk_lap(chunk) == chunk->snapshot_lap) {
		chunk_drained(arena, index, end);
	} else {
		/* Release: who dies in between counts them as lost, rather than twice as not. */
		store_release(&chunk->snapshot, 0);
		add_relaxed(&arena->counters[COUNTER_overwritten], -handed_out);
	}
	chunk_unpin(chunk);
}

/*
 * A drainer may be killed at any moment of this; whoever comes next goes on. So no event is handed
 * out twice, unless it is killed between the last write to its reader and the first line here.
 */
void chunk_commit(struct arena *arena)
{
	uint32_t made = arena_chunks_made(arena);

	store_release(&arena->commit_begun, 1);
	for (uint32_t i = 0; i < made; i++)
		if (chunk_snapshot_end(chunk_at(arena, i)) > 0)
			commit_chunk(arena, i);
	/* Pairs with chunk_commit_for_dead(): whoever sees 0 sees all chunks committed. */
	store_release(&arena->commit_begun, 0);
}

void chunk_commit_for_dead(struct arena *arena)
{
	if (UNLIKELY(load_acquire(&arena->commit_begun)))
		chunk_commit(arena);
}

/* --- Ahead of time, and afterwards ----------------------------------------------------------- */

static bool prepare_in_turn(struct arena *arena, uint32_t index)
{
	bool restored;

	while (index >= load_acquire(&arena->chunks.made))
		if (pool_make(arena, &arena->chunks, chunk_items) == POOL_NONE)
			return false;
	if (chunk_state_of(chunk_at(arena, index)) != CHUNK_EMPTY)
		return false;
	if (!load_relaxed(&chunk_at(arena, index)->is_bare) ||
	    !claim_from(chunk_at(arena, index), CHUNK_EMPTY))
		return true;
	restored = restore_memory(arena, chunk_at(arena, index), index);
	change_state(chunk_at(arena, index), CHUNK_CLAIMED, CHUNK_EMPTY);
	return restored;
}

void chunk_prepare(struct arena *arena, uint32_t ready)
{
	uint64_t turn = load_relaxed(&arena->turn);

	for (uint32_t i = 0; arena->is_ring && i < ready && i < arena->chunks.max; i++)
		if (!prepare_in_turn(arena, (uint32_t)((turn + i) % arena->chunks.max)))
			return;
	/* The count is off by as many threads as are between two steps now; below 0 it looks
	 * enormous. */
	while (!arena->is_ring && load_relaxed(&arena->chunks.given) < ready) {
		uint32_t index = pool_take_given(arena, &arena->bare, chunk_items);

		if (index != POOL_NONE && !restore_memory(arena, chunk_at(arena, index), index)) {
			pool_give(arena, &arena->bare, chunk_items, index);
			break;
		}
		if (index == POOL_NONE)
			index = pool_make(arena, &arena->chunks, chunk_items);
		if (index == POOL_NONE)
			break;
		pool_give(arena, &arena->chunks, chunk_items, index);
	}
}

static void trim_ring(struct arena *arena, uint32_t kept)
{
	uint64_t turn = load_relaxed(&arena->turn);

	for (uint32_t i = kept; i < arena->chunks.max; i++) {
		uint32_t index = (uint32_t)((turn + i) % arena->chunks.max);
		struct chunk *chunk = chunk_at(arena, index);

		if (index >= load_acquire(&arena->chunks.made) || !claim_from(chunk, CHUNK_EMPTY))
			continue;
		release_memory(arena, chunk);
		change_state(chunk, CHUNK_CLAIMED, CHUNK_EMPTY);
	}
}

void chunk_trim(struct arena *arena, uint32_t kept)
{
	uint32_t given = load_relaxed(&arena->chunks.given);

	if (arena->is_ring)
		trim_ring(arena, kept);
	/* Not until there are no more: others take and give meanwhile. */
	for (; !arena->is_ring && given > kept && given <= arena->chunks.max; given--) {
		uint32_t index = pool_take_given(arena, &arena->chunks, chunk_items);

		if (index == POOL_NONE)
			return;
		release_memory(arena, chunk_at(arena, index));
		pool_give(arena, chunk_at(arena, index)->is_bare ? &arena->bare : &arena->chunks,
			  chunk_items, index);
	}
}
