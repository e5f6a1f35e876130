/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New events of a living process's arena; top_read.h has the contract.
 *
 * Method. A chunk is filled by one thread, and begun anew when it was handed out or overwritten.
 * Its contents are known by its lap and its first record, whose begin is never the same again.
 * Records below `published` stay what they are until then. So they are copied first, and count if
 * the chunk is still the same afterwards.
 *
 * Threads fill chunks of their own. The copies are put in order of their ends. One thread.
 */
#include "top_read.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "chunk.h"
#include "clock.h"
#include "grow.h"
#include "opens.h"
#include "roster.h"
#include "stacks.h"
#include "strings.h"

static bool is_same(const struct top_cursor *a, const struct top_cursor *b)
{
	return a->lap == b->lap && a->first[0] == b->first[0] && a->first[1] == b->first[1];
}

/* The contents of the chunk as it is; false: nothing that may be looked at. */
static bool look_at(const struct chunk *chunk, struct top_cursor *now)
{
	enum chunk_state state = chunk_state_of(chunk);

	if (state != CHUNK_FILLING && state != CHUNK_FULL)
		return false;
	now->words = extent_words(chunk_published(chunk));
	now->lap = chunk_lap(chunk);
	if (now->words < PACKED_LEAST)
		return false;
	now->first[0] = load_relaxed(&chunk->words[0]);
	now->first[1] = load_relaxed(&chunk->words[1]);
	return true;
}

static bool add(struct top_reader *reader, const struct record *record)
{
	struct record *grown =
		grow_for_one(reader->records, &reader->room, reader->count, sizeof(*grown));

	if (!grown)
		return false;
	reader->records = grown;
	reader->records[reader->count++] = *record;
	return true;
}

/* Contents that are gone had a part that was not read: they were not full when they were read. */
static bool is_unread(const struct top_cursor *before)
{
	return before->words > 0 && before->words <= CHUNK_WORDS - RECORD_WORDS;
}

static bool read_chunk(struct top_reader *reader, const struct chunk *chunk,
		       struct top_cursor *cursor)
{
	struct top_cursor now = { .words = 0 }, then = { .words = 0 };
	size_t before = reader->count;
	struct record record;

	if (!look_at(chunk, &now)) {
		reader->missed += is_unread(cursor);
		cursor->words = 0;
		return true;
	}
	bool goes_on = is_same(&now, cursor) && cursor->words <= now.words;
	uint32_t at = goes_on ? cursor->words : 0;

	reader->missed += !goes_on && (is_unread(cursor) || now.lap > cursor->lap + 1);
	*cursor = now;
	while (packed_read(chunk->words, &at, now.words, &record))
		if (!add(reader, &record))
			return false;
	/* Loads are not put in another order: x86 does not, nor does the compiler around a call. */
	if (reader->count > before && (!look_at(chunk, &then) || !is_same(&now, &then))) {
		reader->missed++;
		reader->count = before;
		cursor->words = 0;
	}
	return true;
}

static bool grow_cursors(struct top_reader *reader, uint32_t made)
{
	struct top_cursor *grown;

	if (made <= reader->cursor_count)
		return true;
	grown = realloc(reader->cursors, made * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + reader->cursor_count, 0, (made - reader->cursor_count) * sizeof(*grown));
	reader->cursors = grown;
	reader->cursor_count = made;
	return true;
}

static int compare_ends(const void *left, const void *right)
{
	const struct record *a = left, *b = right;

	return (a->end > b->end) - (a->end < b->end);
}

static uint64_t to_ns(const struct top_reader *reader, uint64_t ticks)
{
	struct clock_scale clock = reader->remains.arena->clock;

	clock.mult = reader->rate;
	return clock_to_ns(&clock, ticks);
}

uint64_t top_reader_now_ns(const struct top_reader *reader)
{
	return to_ns(reader, clock_take_pair().ticks);
}

/* Times become nanoseconds. An event that has not ended yet is not believed. */
static void convert(struct top_reader *reader)
{
	uint64_t now_ns = top_reader_now_ns(reader);
	size_t kept = 0;

	for (size_t i = 0; i < reader->count; i++) {
		struct record record = reader->records[i];

		record.start = to_ns(reader, record.start);
		record.end = to_ns(reader, record.end);
		if (record.end < record.start)
			record.start = record.end;
		if (record.end <= now_ns)
			reader->records[kept++] = record;
	}
	reader->strange += reader->count - kept;
	reader->count = kept;
}

bool top_reader_next(struct top_reader *reader)
{
	const struct arena *arena = reader->remains.arena;
	uint32_t made;

	reader->count = 0;
	(void)remains_renew(&reader->remains);
	made = arena_chunks_made(arena);
	if (!grow_cursors(reader, made))
		return false;
	for (uint32_t i = 0; i < made; i++)
		if (!read_chunk(reader, chunk_at(arena, i), &reader->cursors[i]))
			return false;
	convert(reader);
	if (reader->count)
		qsort(reader->records, reader->count, sizeof(*reader->records), compare_ends);
	return true;
}

/* Where a chunk or a handle was not used yet, its memory is not touched. */
const struct snapshot_open *top_reader_opens(struct top_reader *reader, uint32_t *count)
{
	const struct arena *arena = reader->remains.arena;
	uint32_t slots = roster_made(arena);
	struct snapshot snapshot = { .open_room = (uint32_t)opens_most(slots) };

	*count = 0;
	if (snapshot.open_room > reader->open_room) {
		free(reader->opens);
		reader->opens = malloc(snapshot.open_room * sizeof(*reader->opens));
		reader->open_room = reader->opens ? snapshot.open_room : 0;
	}
	if (!reader->opens)
		return NULL;
	snapshot.opens = reader->opens;
	opens_copy(&snapshot, arena, slots);
	*count = snapshot.open_count;
	for (uint32_t i = 0; i < *count; i++)
		reader->opens[i].record.start = to_ns(reader, reader->opens[i].record.start);
	return reader->opens;
}

uint32_t top_reader_thread(const struct top_reader *reader, pid_t tid)
{
	const struct arena *arena = reader->remains.arena;
	uint32_t slots = roster_made(arena);

	for (uint32_t i = 0; i < slots; i++) {
		const struct slot *slot = roster_slot(arena, i);

		if (load_relaxed(&slot->tid) == (uint32_t)tid)
			return load_acquire(&slot->thread);
	}
	return 0;
}

int top_reader_open(struct top_reader *reader, const char *arena)
{
	int result;

	*reader = (struct top_reader){ .count = 0 };
	result = remains_open_to_read(&reader->remains, arena);
	if (result != 0)
		return result;
	reader->rate = load_relaxed(&reader->remains.arena->clock.mult);
	if (reader->rate == 0)
		reader->rate = clock_rate_of(&reader->remains.arena->clock, CLOCK_APART_NS);
	if (!top_reader_next(reader)) {
		top_reader_close(reader);
		return -ENOMEM;
	}
	reader->count = 0;
	reader->missed = 0;
	return 0;
}

void top_reader_close(struct top_reader *reader)
{
	remains_close(&reader->remains);
	free(reader->cursors);
	free(reader->records);
	free(reader->opens);
	*reader = (struct top_reader){ .count = 0 };
}

void top_reader_string(const struct top_reader *reader, uint32_t id, char *to, size_t size)
{
	uint32_t bytes;
	const char *text = strings_get(reader->remains.arena, id, &bytes);
	size_t used = bytes < size - 1 ? bytes : size - 1;

	memcpy(to, text, used);
	to[used] = '\0';
}

size_t top_reader_stack(const struct top_reader *reader, uint32_t id, uint64_t *frames, size_t most)
{
	const struct arena *arena = reader->remains.arena;
	uint32_t count = 0;
	const uint64_t *from;

	if (id == 0 || id >= stacks_count(arena) + 1)
		return 0;
	from = stacks_get(arena, id, &count);
	if (!from)
		return 0;
	count = count < most ? count : (uint32_t)most;
	memcpy(frames, from, count * sizeof(*frames));
	return count;
}
