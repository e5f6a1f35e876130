/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that is open at one moment. See opens.h.
 *
 * A hold belongs to its watch until it is released, which is before the lock is; its record is
 * written after that. Meanwhile it is open in the slot of the thread that released it, marked
 * HOLD_RELEASED. That is the very entry, or one of its own where another thread had taken the lock.
 * That mark, or entry, is there before the watch's holder changes.
 */
#include "opens.h"

#include "chunk.h"
#include "fields.h"
#include "handles.h"
#include "opening.h"
#include "roster.h"
#include "watch.h"

#include "in_target.h"

/* Records that are compared with what was open, for one dump: some seconds. An arena that was made
 * up, or overwritten, would have it go on for hours. */
#define LOOKS_MOST (UINT64_C(1) << 32)

/* --- Copies ---------------------------------------------------------------------------------- */

union record_words {
	struct record record;
	uint64_t words[sizeof(struct record) / sizeof(uint64_t)];
};

static uint64_t read_handle(const struct open_entry *entry)
{
	return load_acquire(&entry->handle) & ~HANDLE_ENDING;
}

/* Copies an entry that others may be changing; false when it is free or was being changed. */
static bool read_entry(const struct open_entry *entry, struct snapshot_open *to)
{
	const union record_words *from = (const union record_words *)&entry->record;
	union record_words copy;

	*to = (struct snapshot_open){ .handle = read_handle(entry) };
	if (to->handle <= HANDLE_CLAIMED)
		return false;
	for (unsigned i = 0; i < sizeof(copy.words) / sizeof(copy.words[0]); i++)
		copy.words[i] = load_acquire(&from->words[i]);
	to->record = copy.record;
	/* Acquire: if it is gone, its record is seen to be published. */
	return read_handle(entry) == to->handle;
}

static bool is_held(const struct arena *arena, const struct snapshot_open *open)
{
	return (watch_hold_at(arena, field_watch(&open->record)) & ~HANDLE_ENDING) == open->handle;
}

/* A thread's entry that is open. False for a hold that another thread has released, too: it may be
 * among those of that thread (*is_elsewhere). */
static bool read_open(const struct arena *arena, const struct open_entry *entry,
		      struct snapshot_open *open, bool *is_elsewhere)
{
	if (!read_entry(entry, open) || open->record.type == RECORD_ATTACHED)
		return false;
	if (!field_is_hold(&open->record) || field_watch(&open->record) < 0 || is_held(arena, open))
		return true;
	open->record.fd = load_acquire(&entry->record.fd);
	open->record.end = load_acquire(&entry->record.end);
	if (read_handle(entry) != open->handle)
		return false;
	*is_elsewhere |= !field_is_released(&open->record);
	return field_is_released(&open->record);
}

static bool is_released(const struct snapshot_open *open)
{
	return field_is_hold(&open->record) && field_is_released(&open->record);
}

/* Not twice what is among those from `since` on. A hold that moves may be seen in two slots. */
static void add(struct snapshot *snapshot, const struct snapshot_open *open, uint32_t since)
{
	snapshot->holds_move |= is_released(open);
	if (snapshot->holds_move && field_is_hold(&open->record))
		since = 0;
	for (uint32_t i = snapshot->open_count; i-- > since;)
		if (snapshot->opens[i].handle == open->handle)
			return;
	if (snapshot->open_count < snapshot->open_room)
		snapshot->opens[snapshot->open_count++] = *open;
}

/* When the entry of a thread was cut off. `before` is the opening of its slot before the entry was
 * read. Since then the thread may have come to a new one, with entries of that. */
static uint64_t find_cut(const struct arena *arena, const struct slot *slot, uint32_t before,
			 uint64_t start)
{
	uint64_t cut = opening_cut(arena, before, start);

	return cut > start ? cut : opening_cut(arena, load_acquire(&slot->opening), start);
}

/* From the top: entries move down only, so none is missed; one that moved is seen twice. */
static bool copy_slots(struct snapshot *snapshot, const struct arena *arena, uint32_t slots)
{
	bool is_elsewhere = false;

	for (uint32_t i = 0; i < slots; i++) {
		const struct slot *slot = roster_slot(arena, i);
		uint32_t since = snapshot->open_count, opening = load_acquire(&slot->opening);
		struct snapshot_open open;

		for (int k = SLOT_ENTRIES; load_acquire(&slot->thread) != 0 && k-- > 0;) {
			if (!read_open(arena, &slot->entries[k], &open, &is_elsewhere))
				continue;
			if (is_released(&open))
				open.cut = open.record.end;
			else if (k > 0)
				open.cut = find_cut(arena, slot, opening, open.record.start);
			add(snapshot, &open, since);
		}
	}
	return is_elsewhere;
}

/* The calls that threads have been inside of since recording was turned on. */
static void copy_found(struct snapshot *snapshot, const struct arena *arena, uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i++) {
		const struct slot *slot = roster_slot(arena, i);
		struct snapshot_open open;

		if (load_acquire(&slot->thread) == 0 || !read_entry(&slot->found, &open))
			continue;
		open.cut = opening_cut(arena, (uint32_t)load_acquire(&slot->found.frame),
				       open.record.start);
		open.place = &slot->found.handle;
		if (read_handle(&slot->found) == open.handle)
			add(snapshot, &open, snapshot->open_count);
	}
}

/* Once more, for holds that moved from a slot that had not been looked at to one that had. */
static void copy_released(struct snapshot *snapshot, const struct arena *arena, uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i++) {
		const struct slot *slot = roster_slot(arena, i);
		struct snapshot_open open;

		for (int k = SLOT_ENTRIES; load_acquire(&slot->thread) != 0 && k-- > 0;)
			if (read_entry(&slot->entries[k], &open) && is_released(&open)) {
				open.cut = open.record.end;
				add(snapshot, &open, 0);
			}
	}
}

static void copy_handles(struct snapshot *snapshot, const struct arena *arena)
{
	for (uint32_t i = handles_next(arena, 0);
	     i < HANDLES_MAX && snapshot->open_count < snapshot->open_room;
	     i = handles_next(arena, i + 1)) {
		const struct open_entry *entry = handles_at(arena, i);
		struct snapshot_open *to = &snapshot->opens[snapshot->open_count];

		if (!entry || !read_entry(entry, to))
			continue;
		to->place = &entry->handle;
		snapshot->open_count++;
	}
}

/* Children that nobody has waited for yet. */
static void copy_children(struct snapshot *snapshot, const struct arena *arena)
{
	for (uint32_t i = watch_next(arena, 0); i < WATCHES_MAX; i = watch_next(arena, i + 1)) {
		const struct watch *watch = watch_at(arena, i);
		bool is_child = watch && load_acquire(&watch->type) == WATCH_CHILD;
		uint64_t op = is_child ? watch_child_op(watch) : 0;

		if (op == 0 || snapshot->open_count == snapshot->open_room)
			continue;
		snapshot->opens[snapshot->open_count++] = (struct snapshot_open){
			.handle = op,
			.place = &watch->holder_op,
			.record = {
				.start = load_relaxed(&watch->holder_start),
				.id = op,
				.parent = load_relaxed(&watch->holder_parent),
				.name = load_relaxed(&watch->initial),
				.ident = load_relaxed(&watch->ident),
				.stack = load_relaxed(&watch->holder_stack),
				.fd = -1,
				.type = RECORD_OP,
				.what = KIND_EXEC,
			},
		};
	}
}

void opens_copy(struct snapshot *snapshot, const struct arena *arena, uint32_t slots)
{
	if (copy_slots(snapshot, arena, slots))
		copy_released(snapshot, arena, slots);
	copy_found(snapshot, arena, slots);
	copy_handles(snapshot, arena);
	copy_children(snapshot, arena);
}

/* --- What has ended meanwhile ---------------------------------------------------------------- */

static bool is_record_of(const struct record *record, const struct record *open)
{
	if (record->type != open->type)
		return false;
	return record->type == RECORD_OP
		       ? record->id == open->id
		       : record->type == RECORD_WAIT && record->parent == open->parent &&
				 record->start == open->start;
}

/* Whether it is the last record of its thread's chunk. Then its entry is just about to be cleared,
 * or its thread has been waiting for a CPU there since before the dump. */
static bool is_ending(struct snapshot *snapshot, const struct arena *arena, uint32_t index_plus_one,
		      const struct snapshot_open *open)
{
	const struct chunk *chunk;
	uint32_t at, end;

	if (index_plus_one == 0 || index_plus_one > snapshot->chunk_count)
		return false;
	chunk = chunk_at(arena, index_plus_one - 1);
	end = extent_words(chunk_snapshot_end(chunk));
	at = packed_last(chunk->words, load_relaxed(&chunk->snapshot_since), end);
	return packed_read(chunk->words, &at, end, &snapshot->seen) &&
	       is_record_of(&snapshot->seen, &open->record);
}

/* Whether it is open beyond doubt: then nobody needs to look for its record. */
static bool is_open_now(struct snapshot *snapshot, const struct arena *arena, uint32_t slots,
			const struct snapshot_open *open)
{
	if (open->place)
		return load_acquire(open->place) == open->handle;
	if (is_released(open))
		return false;
	/* One that is just being ended may be so by another thread. */
	if (field_is_hold(&open->record) && field_watch(&open->record) >= 0 &&
	    watch_hold_at(arena, field_watch(&open->record)) != open->handle)
		return false;
	for (uint32_t i = 0; i < slots; i++) {
		const struct slot *slot = roster_slot(arena, i);
		/* Before the entries: the thread goes on to another chunk after clearing one. */
		uint32_t chunk = load_acquire(&slot->chunk);

		if (load_acquire(&slot->thread) != open->handle >> 32)
			continue;
		for (int k = SLOT_ENTRIES; k-- > 0;)
			if (load_acquire(&slot->entries[k].handle) == open->handle)
				return !is_ending(snapshot, arena, chunk, open);
		return false;
	}
	return false;
}

/* Whether the record of what was open is in the snapshot, or was in the last one already. */
static bool is_recorded(struct snapshot *snapshot, const struct arena *arena,
			const struct snapshot_open *open)
{
	for (uint32_t i = 0; i < snapshot->chunk_count && snapshot->looked_at < LOOKS_MOST; i++) {
		const struct chunk *chunk = chunk_at(arena, i);
		uint32_t end = extent_words(chunk_snapshot_end(chunk));
		uint32_t at = load_relaxed(&chunk->snapshot_since);

		for (; packed_read(chunk->words, &at, end, &snapshot->seen); snapshot->looked_at++)
			if (is_record_of(&snapshot->seen, &open->record))
				return true;
		snapshot->looked_at++;
	}
	return false;
}

void opens_drop_ended(struct snapshot *snapshot, const struct arena *arena, uint32_t slots)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < snapshot->open_count; i++)
		if (is_open_now(snapshot, arena, slots, &snapshot->opens[i]) ||
		    !is_recorded(snapshot, arena, &snapshot->opens[i]))
			snapshot->opens[kept++] = snapshot->opens[i];
	snapshot->open_count = kept;
}
