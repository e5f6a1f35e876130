/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any arena, as it is when it is read and as it becomes meanwhile. Nothing crashes, or passes the
 * end of the mapping, and the dump ends.
 *
 * A valid arena is recorded once. An input is words that are written over it, some of them before
 * it is read. The others are written one by one between the pieces of the dump, as the process may
 * do. The constants are changed before only, and checked then: readers have a copy of them.
 *
 * Input: a byte of what is done; then mutations of 11 bytes: which part and how (1), where in the
 * part (2), value (8).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "arena.h"
#include "blocked.h"
#include "dump.h"
#include "record.h"
#include "roster.h"
#include "self.h"
#include "snapshot.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	EVENTS = 300,
	EXTENTS_MAX = 64,
	MUTATION_BYTES = 11,
	/* More than all tables full of the longest strings. A number out of bounds would have the
	 * dump say far more. */
	TEXT_BYTES_MAX = 400 << 20,
	GUARD_BYTES = 1 << 20
};

enum action { IS_LIVING = 1, IS_COMMITTED = 2, WITH_THREADS = 4, IS_RESET = 8 };

struct extent {
	uint64_t offset;
	uint64_t bytes;
	char *content;
};

static const char calls[] = "read\0pthread_mutex_lock";
static const struct recorder_host host = { .call_names = calls,
					   .call_count = 2,
					   .thread_create = pthread_create };

static struct extent extents[EXTENTS_MAX];
static size_t extent_count;
static uint64_t arena_bytes;
static struct arena *victim; /* the arena that is read */
static pid_t sleeper;        /* whose it says it is */
static char buffer[DUMP_BUFFER_BYTES];

/* --- A valid one ------------------------------------------------------------------------------ */

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void record_something(void)
{
	struct self *self = self_enter();
	static int locks[64];
	const void *frame = __builtin_frame_address(0);

	require(self != NULL);
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint64_t op =
			op_begin(self, i % 3 ? KIND_IO : KIND_SLEEP, 1, i, (int)i % 7, 0, frame);
		uint64_t wait = wait_begin(self, REASON_MUTEX, 2, &locks[i % 64], 0, 0, frame);

		wait_end(self, wait, 0, 0);
		if (i % 5 == 0)
			link_record(self, LINK_POST, op, &locks[i % 64], 0, 1);
		op_end(self, op, OUTCOME_OK, i);
	}
	/* Open when it is read. */
	(void)op_begin(self, KIND_POLL, 1, 0, 3, 0, frame);
	(void)wait_begin(self, REASON_MUTEX, 2, &locks[1], 0, 0, frame);
	self_leave(self);
}

/* As the first dump leaves it: the clock's rate is known. */
static void dump_once(void)
{
	struct dump dump;

	require(dump_begin(&dump, recorder_arena, buffer, sizeof(buffer), DUMP_AT_END) == 0);
	while (dump_fill(&dump))
		continue;
	dump_end(&dump, false);
}

static void copy_extents(void)
{
	int fd = open(recorder_arena->path, O_RDONLY);
	off_t at = 0, end;

	require(fd >= 0);
	while (extent_count < EXTENTS_MAX && (at = lseek(fd, at, SEEK_DATA)) >= 0) {
		struct extent *extent = &extents[extent_count++];

		end = lseek(fd, at, SEEK_HOLE);
		*extent = (struct extent){ (uint64_t)at, (uint64_t)(end - at),
					   malloc((size_t)(end - at)) };
		require(pread(fd, extent->content, extent->bytes, at) == (ssize_t)extent->bytes);
		at = end;
	}
	close(fd);
}

/* Between pages that nobody may touch. */
static void map_victim(void)
{
	char *space;

	arena_bytes = recorder_arena->bytes;
	space = mmap(NULL, arena_bytes + 2 * GUARD_BYTES, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	require(space != MAP_FAILED);
	victim = (struct arena *)(space + GUARD_BYTES);
	require(mprotect(victim, arena_bytes, PROT_READ | PROT_WRITE) == 0);
}

static void start_sleeper(void)
{
	sleeper = fork();
	if (sleeper == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	start_sleeper();
	setenv("WCPROF_CONTROL", "off", 1);
	setenv("WCPROF_ENABLE", "1", 1);
	setenv("WCPROF_MAX_EVENTS", "4000", 1);
	recorder_start(&host);
	record_something();
	dump_once();
	copy_extents();
	map_victim();
	arena_unlink(recorder_arena);
	return 0;
}

/* --- Mutations -------------------------------------------------------------------------------- */

/* A word of any part of the arena, or of its header beyond the constants. */
static uint64_t place_of(uint8_t part, uint16_t where)
{
	static const uint64_t starts[] = {
		ARENA_CONSTANT_BYTES,
		ARENA_CONSTANT_BYTES,
		ARENA_ROSTER,
		ARENA_STRINGS,
		ARENA_STRING_IDS,
		ARENA_STRING_POOL,
		ARENA_STACKS,
		ARENA_WATCHES,
		ARENA_HANDLES,
		ARENA_MODULES,
		ARENA_OBJECTS,
		ARENA_PEERS,
		ARENA_CHUNKS,
		ARENA_CHUNKS,
		ARENA_CHUNKS + CHUNK_BYTES,
		ARENA_CHUNKS + 2 * CHUNK_BYTES,
	};
	uint64_t offset = (uint64_t)where * 4;

	/* Of chunks, the words before the records mostly. */
	if (part % 16 >= 12 && where % 2)
		offset %= 64;
	if (part % 16 == 0)
		offset %= 2048;
	return (starts[part % 16] + offset) % (arena_bytes - 8);
}

static void mutate(const uint8_t *mutation)
{
	uint16_t where;
	uint64_t value;
	char *at;

	memcpy(&where, mutation + 1, sizeof(where));
	memcpy(&value, mutation + 3, sizeof(value));
	at = (char *)victim + place_of(mutation[0], where);
	if (mutation[0] & 0x80)
		memcpy(at, &value, 8);
	else
		memcpy(at, &value, 4);
}

/* As a reader gets it; false: it would not be read. */
static bool take_constants(const uint8_t *mutation)
{
	uint64_t value;
	uint16_t where;

	memcpy(&where, mutation + 1, sizeof(where));
	memcpy(&value, mutation + 3, sizeof(value));
	memcpy((char *)victim + where % (ARENA_CONSTANT_BYTES - 8), &value, 8);
	victim->anonymous = 1;
	if (arena_header_fault(victim, arena_bytes) || !arena_constants_are_valid(victim))
		return false;
	/* Measuring it takes time. */
	if (victim->clock.mult == 0)
		victim->clock.mult = UINT64_C(1) << 31;
	return true;
}

static void restore(void)
{
	require(madvise(victim, arena_bytes, MADV_DONTNEED) == 0);
	for (size_t i = 0; i < extent_count; i++)
		memcpy((char *)victim + extents[i].offset, extents[i].content, extents[i].bytes);
	victim->anonymous = 1;
	roster_slot(victim, 0)->tid = (uint32_t)sleeper;
}

/* --- Readers ---------------------------------------------------------------------------------- */

static void check_text(const struct text *text)
{
	require(!text->overflowed && text->used <= text->size);
}

static void read_threads(void)
{
	struct blocked_list list;
	struct text text = { 0 };

	if (blocked_read(&list, (uint32_t)sleeper, victim) != 0)
		return;
	text.size = ((size_t)list.count + 1) * BLOCKED_TEXT_BYTES;
	text.bytes = malloc(text.size);
	blocked_put(&text, &list);
	check_text(&text);
	free(text.bytes);
	blocked_free(&list);
}

static void read_dump(const uint8_t *mutations, size_t count, bool is_committed)
{
	struct dump dump;
	uint64_t bytes = 0;

	if (dump_begin(&dump, victim, buffer, sizeof(buffer), DUMP_DEAD) != 0)
		return;
	for (bool more = true; more;) {
		if (count > 0) {
			mutate(mutations);
			mutations += MUTATION_BYTES;
			count--;
		}
		more = dump_fill(&dump);
		check_text(&dump.text);
		bytes += dump.text.used;
		require(bytes < TEXT_BYTES_MAX);
	}
	for (; count > 0; count--, mutations += MUTATION_BYTES)
		mutate(mutations);
	dump_end(&dump, is_committed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t count = size < 1 ? 0 : (size - 1) / MUTATION_BYTES;
	size_t before = 0;
	uint8_t action = size > 0 ? data[0] : 0;

	restore();
	if (action & 0x80 && count > 0 && !take_constants(data + 1))
		return 0;
	/* All of them, or every second part of them. */
	before = action & IS_LIVING ? count / 2 : count;
	for (size_t i = 0; i < before; i++)
		mutate(data + 1 + i * MUTATION_BYTES);
	(void)snapshot_pending(victim);
	if (!(action & IS_LIVING) && arena_fault(victim, arena_bytes))
		return 0;
	if (action & WITH_THREADS)
		read_threads();
	victim->drain_owner = 0;
	read_dump(data + 1 + before * MUTATION_BYTES, count - before, action & IS_COMMITTED);
	if (action & IS_RESET)
		(void)snapshot_reset(victim);
	(void)snapshot_pending(victim);
	return 0;
}
