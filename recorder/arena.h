/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena's memory: a file in shared memory that survives the process, or private memory where no
 * such file can be had.
 *
 * Nothing is written before arena_ready() or arena_populate() has said yes. Memory that has run
 * out, or is beyond what room.h allows, is a `false` there and never a SIGBUS later. Once made, an
 * arena stays mapped for the life of the process. All functions may be called by any thread at any
 * time, but for arena_create(), arena_forget() and arena_unlink().
 */
#ifndef WCPROF_ARENA_H
#define WCPROF_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "atomics.h"
#include "format.h"
#include "recorder.h"

/* The arena that the process records into; NULL until recording was first turned on. Written before
 * the gate is. */
extern struct arena *recorder_arena HIDDEN;

/* Where the files are, and the whole of a file's name:
 * DIRECTORY/wcprof-UID-PID-START-GENERATION. */
#define ARENA_DIRECTORY "/dev/shm"
/* The numbers of such a name, without the directory. False: it is no arena's. */
enum { ARENA_NAME_NUMBERS = 4 };
bool arena_parse_name(const char *name, uint64_t numbers[ARENA_NAME_NUMBERS]) HIDDEN;

/* NULL: no memory at all. Fills in magic, version, sizes, pid, generation, pools; the rest is
 * zero. */
struct arena *arena_create(uint32_t pid, uint64_t start_ticks, uint32_t generation,
			   uint64_t max_events) HIDDEN;
/* How many of the wanted events have room where it may take so many bytes of addresses; 0: it is
 * not made. */
uint64_t arena_events_within(uint64_t bytes, uint64_t wanted_events) HIDDEN;
/* Each part that is mapped, by number, where it lacks addresses in between: where it ends. *from is
 * where it begins; 0: there are no more parts. Other things may be mapped between. */
uint64_t arena_part(const struct arena *, uint32_t number, uint64_t *from) HIDDEN;
/* In a forked child: makes the parent's arena harmless. `interrupted`: somebody may go on
 * writing to it. */
void arena_forget(struct arena *, bool interrupted) HIDDEN;
void arena_unlink(struct arena *) HIDDEN;

/* Bytes of memory that it takes. */
uint64_t arena_memory(const struct arena *) HIDDEN;
/* The control thread's, on each tick while recording is on: looks how large it may become. */
void arena_tend(struct arena *) HIDDEN;
/* Makes [offset, offset + bytes) safe to write, for ever. False: out of memory. */
bool arena_populate(struct arena *, uint64_t offset, uint64_t bytes) HIDDEN;
bool arena_ready_slow(struct arena *, uint64_t offset, uint64_t bytes) HIDDEN;

/*
 * The part that is damaged of an arena of so many bytes, to which nobody writes now; NULL: none. It
 * may be another process's, and hold anything. arena_header_fault() looks at the header only; the
 * rest may be looked at only if that is whole.
 */
const char *arena_fault(const struct arena *, uint64_t bytes) HIDDEN;
const char *arena_header_fault(const struct arena *, uint64_t bytes) HIDDEN;
/* The rest of the constants, behind a header that is whole. */
bool arena_constants_are_valid(const struct arena *) HIDDEN;
/* Whether one of this process's is as it must be. */
bool arena_is_valid(const struct arena *) HIDDEN;

static inline bool arena_granule_is_ready(const struct arena *arena, uint64_t granule)
{
	return load_acquire(&arena->ready[granule / 64]) >> (granule % 64) & 1;
}

/* The same for the sections before ARENA_CHUNKS, with a memory of what is populated. */
static inline bool arena_ready(struct arena *arena, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset / ARENA_GRANULE_BYTES;
	uint64_t last = (offset + bytes - 1) / ARENA_GRANULE_BYTES;

	return LIKELY(first == last && arena_granule_is_ready(arena, first)) ||
	       arena_ready_slow(arena, offset, bytes);
}

/* Of a section's items, numbered, the first from `index` on that has memory; `count`: none has. */
uint32_t arena_next_ready(const struct arena *, uint64_t section, uint64_t item_bytes,
			  uint32_t index, uint32_t count) HIDDEN;

static inline void *arena_at(const struct arena *arena, uint64_t offset)
{
	return (char *)(uintptr_t)arena + offset;
}

/*
 * How many chunks there are to look at. A process may have overwritten its arena, or go on doing
 * so. Therefore every number of an arena is read once, and bounded where it is used.
 */
static inline uint32_t arena_chunks_made(const struct arena *arena)
{
	uint32_t made = load_acquire(&arena->chunks.made);

	return made < arena->chunks_most ? made : arena->chunks_most;
}

/* Counts what has no thread to count it. */
static inline void arena_count(struct arena *arena, enum counter counter)
{
	add_relaxed(&arena->counters[counter], 1);
}

#endif
