/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an arena is one, and whole. See arena.h.
 *
 * Every number by which the dump's code follows an arena (counts, offsets, lengths, indexes) must
 * stay inside it. A process that overwrites its own memory may have overwritten its arena too. The
 * checks go from the header outwards, and none follows a number that was not checked before. The
 * fields of a record may be anything, as the dump writes them as numbers. The checks tell which
 * part is damaged; who reads an arena bounds each number again, as somebody may write to it.
 */
#include "arena.h"

#include <string.h>

#include "chunk.h"
#include "clock.h"
#include "modules.h"
#include "roster.h"
#include "stacks.h"
#include "strings.h"

#include "in_target.h"

/* The kernel allows no more to time name spaces. */
#define MONO_NS_MOST (UINT64_C(1) << 62)

static bool is_ended(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

const char *arena_header_fault(const struct arena *arena, uint64_t bytes)
{
	uint32_t chunks = load_relaxed(&arena->chunks.max);

	if (arena->magic != ARENA_MAGIC || arena->version != FORMAT_VERSION)
		return "header";
	if (arena->bytes != bytes || arena->slots.max != ROSTER_SLOTS || chunks == 0 ||
	    bytes != ARENA_CHUNKS + (uint64_t)chunks * CHUNK_BYTES || arena->chunks_most > chunks)
		return "size";
	if (!is_ended(arena->path, sizeof(arena->path)) ||
	    !is_ended(arena->socket, sizeof(arena->socket)) ||
	    !is_ended(arena->exe, sizeof(arena->exe)))
		return "header";
	return NULL;
}

static bool is_process_valid(const struct arena *arena)
{
	return arena->argv_bytes <= sizeof(arena->argv) &&
	       is_ended(arena->host, sizeof(arena->host)) &&
	       is_ended(arena->deployment.name, sizeof(arena->deployment.name)) &&
	       is_ended(arena->deployment.version, sizeof(arena->deployment.version)) &&
	       is_ended(arena->deployment.environment, sizeof(arena->deployment.environment)) &&
	       is_ended(arena->deployment.instance, sizeof(arena->deployment.instance)) &&
	       is_ended(arena->boot_id, sizeof(arena->boot_id));
}

/* It began in the past. By the kernel's clock it may have counted from any time, in a time name
 * space of its own. */
static bool is_clock_valid(const struct arena *arena)
{
	const struct clock_scale *clock = &arena->clock;
	bool is_counter = clock->kind == CLOCK_KIND_TSC;

	return clock->base.mono_ns < MONO_NS_MOST &&
	       clock->base.ticks <= (is_counter ? clock_now_ticks() : MONO_NS_MOST);
}

/* Counts are in order at every moment in which a process can die: see where each is written. */
static bool are_counts_valid(const struct chunk *chunk)
{
	return chunk->published == chunk_extent(chunk->published) &&
	       chunk->drained == chunk_begin(chunk->drained, chunk->published) &&
	       chunk->threads_ended <= CHUNK_WORDS / PACKED_LEAST &&
	       chunk->snapshot == chunk_extent(chunk->snapshot) &&
	       (chunk->snapshot == 0 ||
		chunk->snapshot_from == chunk_begin(chunk->snapshot_from, chunk->snapshot));
}

/* `drained` lies between two records. */
static bool are_records_valid(const struct chunk *chunk)
{
	uint32_t published = chunk->published, drained = chunk->drained;
	uint32_t words = extent_words(drained), records = extent_records(drained);

	return packed_is_valid(chunk->words, 0, words, records) &&
	       packed_is_valid(chunk->words, words, extent_words(published),
			       extent_records(published) - records);
}

bool chunk_is_valid(const struct chunk *chunk)
{
	enum chunk_state state = chunk_state_of(chunk);

	if (!are_counts_valid(chunk) || chunk->is_bare > 1)
		return false;
	if (state == CHUNK_EMPTY)
		return chunk->published == 0;
	if (state == CHUNK_CLAIMED)
		return true;
	if (state == CHUNK_FULL && !chunk_has_no_room(chunk->published))
		return false;
	return !chunk->is_bare && are_records_valid(chunk);
}

static bool are_chunks_valid(const struct arena *arena)
{
	uint32_t made = arena_chunks_made(arena);

	if (load_relaxed(&arena->chunks.made) > made)
		return false;
	for (uint32_t i = 0; i < made; i++)
		if (!chunk_is_valid(chunk_at(arena, i)))
			return false;
	return true;
}

static uint32_t count_filling(const struct arena *arena)
{
	uint32_t count = 0;
	uint32_t made = arena_chunks_made(arena);

	for (uint32_t i = 0; i < made; i++)
		count += (chunk_at(arena, i)->state & CHUNK_STATES) == CHUNK_FILLING;
	return count;
}

/* A thread fills at most one chunk, which is its own. */
static bool are_slots_valid(const struct arena *arena)
{
	uint32_t made = roster_made(arena);
	uint32_t chunks = arena_chunks_made(arena);
	uint32_t owned = 0;

	if (load_relaxed(&arena->slots.made) > made)
		return false;
	for (uint32_t i = 0; i < made; i++) {
		uint32_t chunk = load_relaxed(&roster_slot(arena, i)->chunk);

		if (chunk > chunks)
			return false;
		if (chunk > 0 &&
		    (chunk_at(arena, chunk - 1)->state & CHUNK_STATES) != CHUNK_FILLING)
			return false;
		owned += chunk > 0;
	}
	return owned <= count_filling(arena);
}

static bool are_modules_valid(const struct arena *arena)
{
	uint32_t count = load_relaxed(&arena->module_count);

	if (count > MODULES_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct module_entry *module = modules_at(arena, i);

		if (module->build_id_bytes > sizeof(module->build_id) ||
		    !is_ended(module->path, sizeof(module->path)))
			return false;
	}
	return true;
}

static bool are_objects_valid(const struct arena *arena)
{
	return arena->object_count <= OBJECTS_MAX;
}

static bool are_peers_valid(const struct arena *arena)
{
	return arena->peers_sought <= PEERS_MAX;
}

const char *arena_fault(const struct arena *arena, uint64_t bytes)
{
	static const struct {
		const char *name;
		bool (*is_valid)(const struct arena *);
	} parts[] = {
		{ "facts of the process", is_process_valid },
		{ "times", is_clock_valid },
		{ "chunks", are_chunks_valid },
		{ "threads", are_slots_valid },
		{ "strings", strings_are_valid },
		{ "stacks", stacks_are_valid },
		{ "modules", are_modules_valid },
		{ "locks", are_objects_valid },
		{ "sockets", are_peers_valid },
	};
	const char *fault = arena_header_fault(arena, bytes);

	for (size_t i = 0; !fault && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!parts[i].is_valid(arena))
			fault = parts[i].name;
	return fault;
}

bool arena_constants_are_valid(const struct arena *arena)
{
	return is_process_valid(arena) && is_clock_valid(arena);
}

bool arena_is_valid(const struct arena *arena)
{
	return arena_fault(arena, arena->bytes) == NULL;
}
