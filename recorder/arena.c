/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena's memory. See arena.h.
 *
 * The file is sparse, as large as it may ever become, and mapped whole. Its descriptor is closed at
 * once, so that the program never sees it. MADV_POPULATE_WRITE allocates pages of it without the
 * descriptor and reports a full file system as an error. A kernel without it gets private memory.
 */
#include "arena.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "clock.h"
#include "mapping.h"
#include "room.h"
#include "syscalls.h"
#include "text.h"

#include "in_target.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { STARVED_TICKS = 20000000, NAME_TRIES = 64, CHUNKS_MIN = 4 };

struct arena *recorder_arena;

static bool file_size_is_allowed(uint64_t bytes)
{
	struct rlimit limit = { 0, 0 };

	/* A file beyond the limit would be a SIGXFSZ for the program. */
	return sys_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

static void name_file(char *path, size_t size, uint32_t pid, uint64_t start_ticks,
		      uint32_t generation)
{
	struct text text = { .bytes = path, .size = size };

	text_put_literal(&text, ARENA_DIRECTORY "/wcprof-");
	text_put_u64(&text, (uint64_t)sys_geteuid());
	text_put_literal(&text, "-");
	text_put_u64(&text, pid);
	text_put_literal(&text, "-");
	text_put_u64(&text, start_ticks);
	text_put_literal(&text, "-");
	text_put_u64(&text, generation);
	(void)text_end(&text);
}

bool arena_parse_name(const char *name, uint64_t numbers[ARENA_NAME_NUMBERS])
{
	if (strncmp(name, "wcprof-", 7) != 0)
		return false;
	name += 7;
	for (int i = 0; i < ARENA_NAME_NUMBERS; i++) {
		size_t digits = strspn(name, "0123456789");

		if (!text_parse_u64(name, digits, &numbers[i]) ||
		    name[digits] != (i < ARENA_NAME_NUMBERS - 1 ? '-' : '\0'))
			return false;
		name += digits + 1;
	}
	return true;
}

/* Opens the first free name from *generation on; several images of a process have the same pid
 * and start. */
static int open_file(char *path, size_t size, uint32_t pid, uint64_t start_ticks,
		     uint32_t *generation)
{
	int fd = -EEXIST;

	for (int i = 0; i < NAME_TRIES && fd == -EEXIST; i++, ++*generation) {
		name_file(path, size, pid, start_ticks, *generation);
		fd = sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	--*generation;
	return fd;
}

static struct arena *map_file(char *path, size_t size, uint32_t pid, uint64_t start_ticks,
			      uint32_t *generation, uint64_t bytes)
{
	void *mapping = NULL;
	int fd;

	if (!file_size_is_allowed(bytes))
		return NULL;
	fd = open_file(path, size, pid, start_ticks, generation);
	if (fd < 0)
		return NULL;
	if (sys_ftruncate(fd, bytes) == 0)
		mapping = mapping_make(bytes, fd);
	sys_close(fd);
	if (mapping && sys_madvise(mapping, ARENA_HEADER_BYTES, MADV_POPULATE_WRITE) == 0)
		return mapping;
	if (mapping)
		sys_munmap(mapping, bytes);
	sys_unlink(path);
	return NULL;
}

/* Where addresses are few, these parts of the tables are not mapped: their ends, which are the last
 * to be used. */
static const struct part {
	uint64_t offset;
	uint64_t bytes;
} spared[] = {
#define SPARED(from, kept, end)                          \
	{                                                \
		(from) + (kept), (end) - (from) - (kept) \
	}
	SPARED(ARENA_ROSTER, 512 * SLOT_BYTES, ARENA_STRINGS),
	SPARED(ARENA_STRING_POOL, 1 << 20, ARENA_STACKS),
	SPARED(ARENA_STACK_POOL, 4 << 20, ARENA_WATCHES),
};

enum { SPARED_PARTS = sizeof(spared) / sizeof(spared[0]) };

_Static_assert(512 * SLOT_BYTES % 4096 == 0, "a part begins on a page");

/* Whether this process's arena lacks those parts. Written when it is made. */
static bool is_small;

static bool is_spared(uint64_t offset, uint64_t bytes)
{
	for (int i = 0; i < SPARED_PARTS; i++)
		if (offset < spared[i].offset + spared[i].bytes &&
		    offset + bytes > spared[i].offset)
			return true;
	return false;
}

static void spare_addresses(const struct arena *arena)
{
	for (int i = 0; is_small && i < SPARED_PARTS; i++)
		sys_munmap(arena_at(arena, spared[i].offset), spared[i].bytes);
}

/* How many chunks of those wanted have room in so many bytes of addresses, beside all tables or
 * their beginnings; 0: not enough for an arena. */
static uint64_t chunks_within(uint64_t bytes, uint64_t wanted, bool *small)
{
	uint64_t tables = ARENA_CHUNKS, left;

	*small = bytes < 2 * tables && bytes < tables + wanted * CHUNK_BYTES;
	for (int i = 0; *small && i < SPARED_PARTS; i++)
		tables -= spared[i].bytes;
	left = bytes > tables ? (bytes - tables) / CHUNK_BYTES : 0;
	left = left < wanted ? left : wanted;
	return left < CHUNKS_MIN ? 0 : left;
}

static uint64_t chunks_for(uint64_t events)
{
	uint64_t chunks = (events + CHUNK_RECORDS - 1) / CHUNK_RECORDS;

	return chunks < CHUNKS_MIN ? CHUNKS_MIN : chunks;
}

uint64_t arena_events_within(uint64_t bytes, uint64_t wanted_events)
{
	bool small;
	uint64_t wanted = chunks_for(wanted_events);
	uint64_t chunks = chunks_within(bytes, wanted, &small);

	return chunks == wanted ? wanted_events : chunks * CHUNK_RECORDS;
}

static uint64_t count_chunks(uint64_t wanted, bool is_private)
{
	uint64_t bytes = room_addresses(ARENA_CHUNKS + wanted * CHUNK_BYTES, is_private);

	return chunks_within(bytes, wanted, &is_small);
}

/* The private one of a kernel or a file system that has no other. */
static struct arena *map_private(uint64_t wanted, uint64_t *chunks)
{
	*chunks = count_chunks(wanted, true);
	return *chunks > 0 ? mapping_make(ARENA_CHUNKS + *chunks * CHUNK_BYTES, -1) : NULL;
}

struct arena *arena_create(uint32_t pid, uint64_t start_ticks, uint32_t generation,
			   uint64_t max_events)
{
	uint64_t wanted = chunks_for(max_events);
	char path[sizeof(((struct arena *)0)->path)];
	struct arena *arena = NULL;
	uint64_t chunks;
	bool anonymous;

	if (!room_begin())
		return NULL;
	chunks = count_chunks(wanted, false);
	if (chunks > 0)
		arena = map_file(path, sizeof(path), pid, start_ticks, &generation,
				 ARENA_CHUNKS + chunks * CHUNK_BYTES);
	anonymous = arena == NULL;
	if (anonymous)
		arena = map_private(wanted, &chunks);
	if (!arena)
		return NULL;
	spare_addresses(arena);
	if (!anonymous)
		memcpy(arena->path, path, sizeof(path));
	arena->version = FORMAT_VERSION;
	arena->pid = pid;
	arena->start_ticks = start_ticks;
	arena->bytes = ARENA_CHUNKS + chunks * CHUNK_BYTES;
	arena->generation = generation;
	arena->room_bytes = room_state().more_bytes;
	arena->anonymous = anonymous;
	arena->ready[0] = (UINT64_C(1) << ARENA_HEADER_BYTES / ARENA_GRANULE_BYTES) - 1;
	arena->slots.max = ROSTER_SLOTS;
	arena->chunks.max = (uint32_t)chunks;
	arena->chunks_most = (uint32_t)chunks;
	store_release(&arena->magic, ARENA_MAGIC);
	return arena;
}

static void forget(struct arena *arena, uint64_t from, uint64_t end, bool interrupted)
{
	if (!interrupted)
		sys_munmap(arena_at(arena, from), end - from);
	else
		sys_mmap(arena_at(arena, from), end - from, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1);
}

uint64_t arena_part(const struct arena *arena, uint32_t number, uint64_t *from)
{
	uint32_t last = is_small ? SPARED_PARTS : 0;

	*from = number > 0 && number <= last ? spared[number - 1].offset + spared[number - 1].bytes
					     : 0;
	if (number < last)
		return spared[number].offset;
	return number == last ? arena->bytes : 0;
}

void arena_forget(struct arena *arena, bool interrupted)
{
	uint64_t from, end;

	/* The first part, which has the size, is the last to go. */
	for (uint32_t i = SPARED_PARTS + 1; i-- > 0;)
		if ((end = arena_part(arena, i, &from)) > 0)
			forget(arena, from, end, interrupted);
}

void arena_unlink(struct arena *arena)
{
	if (!arena->anonymous && exchange_acq_rel(&arena->unlinked, 1) == 0)
		sys_unlink(arena->path);
}

uint64_t arena_memory(const struct arena *arena)
{
	uint64_t granules = 0;

	for (size_t i = 0; i < sizeof(arena->ready) / sizeof(arena->ready[0]); i++)
		granules += (uint64_t)__builtin_popcountll(load_relaxed(&arena->ready[i]));
	return granules * ARENA_GRANULE_BYTES +
	       (uint64_t)load_relaxed(&arena->slots.made) * SLOT_BYTES +
	       (uint64_t)load_relaxed(&arena->chunks.made) * CHUNK_BYTES -
	       (uint64_t)load_relaxed(&arena->bare_chunks) * CHUNK_BARED_BYTES;
}

void arena_tend(struct arena *arena)
{
	uint64_t bytes = arena_memory(arena);

	room_tend(bytes);
	store_relaxed(&arena->room_bytes, bytes + room_state().more_bytes);
}

bool arena_populate(struct arena *arena, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset & ~UINT64_C(4095);
	uint64_t end = (offset + bytes + 4095) & ~UINT64_C(4095);

	assert(bytes > 0 && offset <= arena->bytes && bytes <= arena->bytes - offset);
	if (UNLIKELY(clock_now_ticks() < load_relaxed(&arena->starved_until)) ||
	    (UNLIKELY(is_small) && is_spared(offset, bytes)))
		return false;
	if (LIKELY(room_take(end - first, arena_memory(arena)) &&
		   (arena->anonymous ||
		    sys_madvise(arena_at(arena, first), end - first, MADV_POPULATE_WRITE) == 0)))
		return true;
	/* Whoever asks while nothing is to be had would pay for a system call with every event. */
	store_relaxed(&arena->starved_until, clock_now_ticks() + STARVED_TICKS);
	return false;
}

bool arena_ready_slow(struct arena *arena, uint64_t offset, uint64_t bytes)
{
	uint64_t last = (offset + bytes - 1) / ARENA_GRANULE_BYTES;

	assert(offset + bytes <= ARENA_CHUNKS);
	for (uint64_t granule = offset / ARENA_GRANULE_BYTES; granule <= last; granule++) {
		if (arena_granule_is_ready(arena, granule))
			continue;
		if (!arena_populate(arena, granule * ARENA_GRANULE_BYTES, ARENA_GRANULE_BYTES))
			return false;
		/* Release: pairs with arena_granule_is_ready() in whoever reads there without
		 * asking. */
		or_release(&arena->ready[granule / 64], UINT64_C(1) << (granule % 64));
	}
	return true;
}

uint32_t arena_next_ready(const struct arena *arena, uint64_t section, uint64_t item_bytes,
			  uint32_t index, uint32_t count)
{
	while (index < count) {
		uint64_t at = section + index * item_bytes;
		uint64_t granule = at / ARENA_GRANULE_BYTES;
		uint64_t last = (at + item_bytes - 1) / ARENA_GRANULE_BYTES;

		if (arena_granule_is_ready(arena, granule) && arena_granule_is_ready(arena, last))
			return index;
		/* The first that begins behind the granule that is not. */
		granule = arena_granule_is_ready(arena, granule) ? last : granule;
		at = (granule + 1) * ARENA_GRANULE_BYTES - section;
		index = (uint32_t)((at + item_bytes - 1) / item_bytes);
	}
	return count;
}
