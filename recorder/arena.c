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
	void *mapping = (void *)-1L;
	int fd;

	if (!file_size_is_allowed(bytes))
		return NULL;
	fd = open_file(path, size, pid, start_ticks, generation);
	if (fd < 0)
		return NULL;
	if (sys_ftruncate(fd, bytes) == 0)
		mapping = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
				   fd);
	sys_close(fd);
	if (!sys_is_error(mapping) &&
	    sys_madvise(mapping, ARENA_HEADER_BYTES, MADV_POPULATE_WRITE) == 0)
		return mapping;
	if (!sys_is_error(mapping))
		sys_munmap(mapping, bytes);
	sys_unlink(path);
	return NULL;
}

static struct arena *map_private(uint64_t bytes)
{
	void *mapping = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	return sys_is_error(mapping) ? NULL : mapping;
}

struct arena *arena_create(uint32_t pid, uint64_t start_ticks, uint32_t generation,
			   uint64_t max_events)
{
	uint64_t chunk_count = (max_events + CHUNK_RECORDS - 1) / CHUNK_RECORDS;
	uint64_t chunks = chunk_count < CHUNKS_MIN ? CHUNKS_MIN : chunk_count;
	uint64_t bytes = ARENA_CHUNKS + chunks * CHUNK_BYTES;
	char path[sizeof(((struct arena *)0)->path)];
	struct arena *arena = map_file(path, sizeof(path), pid, start_ticks, &generation, bytes);
	bool anonymous = arena == NULL;

	if (anonymous)
		arena = map_private(bytes);
	if (!arena)
		return NULL;
	if (!anonymous)
		memcpy(arena->path, path, sizeof(path));
	arena->version = FORMAT_VERSION;
	arena->pid = pid;
	arena->start_ticks = start_ticks;
	arena->bytes = bytes;
	arena->generation = generation;
	arena->anonymous = anonymous;
	arena->ready[0] = 1;
	arena->slots.max = ROSTER_SLOTS;
	arena->chunks.max = (uint32_t)chunks;
	store_release(&arena->magic, ARENA_MAGIC);
	return arena;
}

void arena_forget(struct arena *arena, bool interrupted)
{
	uint64_t bytes = arena->bytes;

	if (!interrupted)
		sys_munmap(arena, bytes);
	else
		sys_mmap(arena, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1);
}

void arena_unlink(struct arena *arena)
{
	if (!arena->anonymous && exchange_acq_rel(&arena->unlinked, 1) == 0)
		sys_unlink(arena->path);
}

bool arena_populate(struct arena *arena, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset & ~UINT64_C(4095);
	uint64_t end = (offset + bytes + 4095) & ~UINT64_C(4095);

	assert(bytes > 0 && offset <= arena->bytes && bytes <= arena->bytes - offset);
	if (arena->anonymous)
		return true;
	if (UNLIKELY(clock_now_ticks() < load_relaxed(&arena->starved_until)))
		return false;
	if (LIKELY(sys_madvise(arena_at(arena, first), end - first, MADV_POPULATE_WRITE) == 0))
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
