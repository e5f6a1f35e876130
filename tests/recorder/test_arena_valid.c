/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a damaged arena is read as if it were whole, or a whole one is refused. */
#include "arena.h"

#include <stddef.h>
#include <sys/mman.h>

#include "chunk.h"
#include "modules.h"
#include "recording.h"
#include "roster.h"
#include "stacks.h"
#include "suite.h"

static void setup(void)
{
	static const uint64_t frames[] = { 1, 2, 3 };

	setenv("WCPROF_MAX_EVENTS", "5110", 1); /* ten chunks */
	recording_begin();
	for (uint64_t i = 0; i < 2 * CHUNK_RECORDS + 5; i++)
		record_io(i);
	stack_intern(frames, 3);
	string_intern("worker", 6);
}

static void teardown(void)
{
	recording_end();
}

static const char *fault(void)
{
	return arena_fault(recorder_arena, recorder_arena->bytes);
}

START_TEST(a_recording_is_valid_at_any_time)
{
	ck_assert_msg(arena_is_valid(recorder_arena), "%s", fault());
	recording_dump(true);
	ck_assert_msg(arena_is_valid(recorder_arena), "%s", fault());
	chunk_trim(recorder_arena, 0);
	ck_assert_msg(arena_is_valid(recorder_arena), "%s", fault());
	record_io(1);
	switch_disable();
	ck_assert_msg(arena_is_valid(recorder_arena), "%s", fault());
	ck_assert_int_eq(snapshot_reset(recorder_arena), 0);
	ck_assert_msg(arena_is_valid(recorder_arena), "%s", fault());
	thread_end();
	ck_assert_msg(arena_is_valid(recorder_arena), "%s", fault());
}
END_TEST

START_TEST(a_ring_is_valid)
{
	for (uint64_t i = 0; i < 30 * CHUNK_RECORDS; i++)
		record_io(i);
	ck_assert_msg(arena_is_valid(recorder_arena), "%s", fault());
	recording_dump(true);
	ck_assert_msg(arena_is_valid(recorder_arena), "%s", fault());
}
END_TEST

static void setup_ring(void)
{
	setenv("WCPROF_FULL", "ring", 1);
	setup();
}

/* --- Each invariant broken once --------------------------------------------------------------- */

#define IN_ARENA(member)    offsetof(struct arena, member), sizeof(((struct arena *)0)->member)
#define IN_CHUNK(n, member) ARENA_CHUNKS + (n)*CHUNK_BYTES + offsetof(struct chunk, member), 4
#define IN_SLOT(n, member)  ARENA_ROSTER + (n)*SLOT_BYTES + offsetof(struct slot, member), 4
#define IN_STRING(member)   ARENA_STRINGS + 8 + offsetof(struct string_entry, member), 4
#define IN_STACK(member)    ARENA_STACKS + 8 + offsetof(struct stack_entry, member), 4
#define IN_MODULE(member)                                      \
	ARENA_MODULES + offsetof(struct module_entry, member), \
		sizeof(((struct module_entry *)0)->member)

/* Of the chunks the first two are full, the third is being filled, the fourth is not there yet. */
static const struct {
	uint64_t at;
	size_t bytes; /* more than 8: all of them become x */
	uint64_t value;
	const char *part;
} rows[] = {
	/*  0 */ { IN_ARENA(magic), 1, "header" },
	/*  1 */ { IN_ARENA(version), FORMAT_VERSION + 1, "header" },
	/*  2 */ { IN_ARENA(bytes), ARENA_CHUNKS, "size" },
	/*  3 */ { IN_ARENA(chunks.max), 11, "size" },
	/*  4 */ { IN_ARENA(slots.max), ROSTER_SLOTS - 1, "size" },
	/*  5 */ { IN_ARENA(path), 0, "header" },
	/*  6 */ { IN_ARENA(exe), 0, "header" },
	/*  7 */ { IN_ARENA(socket), 0, "header" },
	/*  8 */ { IN_ARENA(argv_bytes), 4093, "facts of the process" },
	/*  9 */ { IN_ARENA(host), 0, "facts of the process" },
	/* 10 */ { IN_ARENA(boot_id), 0, "facts of the process" },
	/* 11 */ { IN_ARENA(clock.base.ticks), UINT64_MAX, "times" },
	/* 12 */ { IN_ARENA(clock.base.mono_ns), UINT64_MAX, "times" },
	/* 13 */ { IN_ARENA(chunks.made), 11, "chunks" },
	/* 14 */
	{ IN_CHUNK(0, published), CHUNK_RECORDS *EXTENT_RECORD + CHUNK_WORDS + 1, "chunks" },
	/* 15 */ { IN_CHUNK(2, drained), 6 * EXTENT_RECORD + 48, "chunks" },
	/* 16 */ { IN_CHUNK(0, threads_ended), CHUNK_WORDS / PACKED_LEAST + 1, "chunks" },
	/* 17 */
	{ IN_CHUNK(0, snapshot), CHUNK_RECORDS *EXTENT_RECORD + CHUNK_WORDS + 1, "chunks" },
	/* 18: from 3, up to 2 */
	{ ARENA_CHUNKS + offsetof(struct chunk, snapshot), 8,
	  (UINT64_C(3) * EXTENT_RECORD + 24) << 32 | (2 * EXTENT_RECORD + 16), "chunks" },
	/* 19 */ { IN_CHUNK(0, state), CHUNK_EMPTY, "chunks" },
	/* 20 */ { IN_CHUNK(2, state), CHUNK_FULL, "chunks" },
	/* 21 */ { IN_CHUNK(2, is_bare), 1, "chunks" },
	/* 22 */ { IN_CHUNK(0, is_bare), 1, "chunks" },
	/* 23 */ { IN_ARENA(slots.made), ROSTER_SLOTS + 1, "threads" },
	/* 24: there is none */ { IN_SLOT(0, chunk), 4, "threads" },
	/* 25: it is full */ { IN_SLOT(0, chunk), 1, "threads" },
	/* 26: the second slot has the first one's */ { IN_ARENA(slots.made), 2, "threads" },
	/* 27 */ { IN_STRING(offset), STRING_POOL_BYTES, "strings" },
	/* 28 */ { IN_STRING(bytes), STRING_BYTES_MAX + 1, "strings" },
	/* 29 */ { IN_STACK(offset), STACK_POOL_WORDS, "stacks" },
	/* 30 */ { IN_STACK(count), STACK_FRAMES_MAX + 1, "stacks" },
	/* 31 */ { IN_ARENA(module_count), MODULES_MAX + 1, "modules" },
	/* 32 */ { IN_MODULE(path), 0, "modules" },
	/* 33 */ { IN_MODULE(build_id_bytes), 21, "modules" },
	/* 34 */ { IN_ARENA(object_count), OBJECTS_MAX + 1, "locks" },
	/* 35 */ { IN_ARENA(peers_sought), PEERS_MAX + 1, "sockets" },
	/* 36: a record less */ { IN_CHUNK(2, published), 4 * EXTENT_RECORD + 40, "chunks" },
	/* 37: within a record */ { IN_CHUNK(2, drained), EXTENT_RECORD + 7, "chunks" },
	/* 38: its base comes behind it */
	{ ARENA_CHUNKS + offsetof(struct chunk, words), 8, PACKED_SHORT | 3, "chunks" },
};

START_TEST(what_is_damaged_is_named)
{
	char *at = arena_at(recorder_arena, rows[_i].at);
	uint64_t bytes = recorder_arena->bytes;
	const char *found;
	char before[512];

	/* Not a slot's yet. */
	roster_slot(recorder_arena, 1)->chunk = 3;
	ck_assert_ptr_null(fault());
	ck_assert_uint_le(rows[_i].bytes, sizeof(before));
	memcpy(before, at, rows[_i].bytes);
	if (rows[_i].bytes > sizeof(rows[_i].value))
		memset(at, 'x', rows[_i].bytes);
	else
		memcpy(at, &rows[_i].value, rows[_i].bytes);
	found = arena_fault(recorder_arena, bytes);
	ck_assert_ptr_nonnull(found);
	ck_assert_str_eq(found, rows[_i].part);
	/* For the end of the test. */
	memcpy(at, before, rows[_i].bytes);
}
END_TEST

/* Whatever records become, and however far they are said to go: a verdict. */
START_TEST(random_records_are_not_left)
{
	struct chunk *chunk = mmap(NULL, 2 * CHUNK_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct chunk *whole = chunk_at(recorder_arena, 0);
	uint32_t refused = 0;

	ck_assert_ptr_ne(chunk, MAP_FAILED);
	ck_assert_int_eq(mprotect((char *)chunk + CHUNK_BYTES, CHUNK_BYTES, PROT_NONE), 0);
	srandom((unsigned)_i);
	for (int i = 0; i < 2000; i++) {
		memcpy(chunk, whole, CHUNK_BYTES);
		ck_assert(chunk_is_valid(chunk));
		for (int k = 0; k < 4; k++)
			chunk->words[random() % CHUNK_WORDS] ^= UINT64_C(1) << random() % 64;
		if (i % 2 == 0)
			chunk->published ^= 1U << random() % 32;
		refused += !chunk_is_valid(chunk);
	}
	ck_assert_uint_gt(refused, 500);
	munmap(chunk, 2 * CHUNK_BYTES);
}
END_TEST

/* Whatever is overwritten: a verdict, and if it is good, a dump that ends. */
START_TEST(random_damage_crashes_nothing)
{
	uint64_t bytes = recorder_arena->bytes;
	struct arena *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t at;

	ck_assert_ptr_ne(copy, MAP_FAILED);
	memcpy(copy, recorder_arena, sizeof(*copy));
	for (uint32_t i = 0; i < 3; i++)
		memcpy(chunk_at(copy, i), chunk_at(recorder_arena, i), CHUNK_BYTES);
	srandom((unsigned)_i);
	for (int i = 0; i < 2000; i++) {
		at = (uint64_t)random() % (sizeof(*copy) - 8);
		memset((char *)copy + at, (int)random(), 1 + (size_t)random() % 8);
		copy->magic = ARENA_MAGIC;
		copy->bytes = bytes;
		copy->slots.max = ROSTER_SLOTS;
		copy->chunks.max = recorder_arena->chunks.max;
		copy->chunks_most = recorder_arena->chunks_most;
		(void)arena_fault(copy, bytes);
	}
	munmap(copy, bytes);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_recording_is_valid_at_any_time);
	EACH(what_is_damaged_is_named, rows);
	LOOP(random_records_are_not_left, 0, 4);
	LOOP(random_damage_crashes_nothing, 0, 10);
	FIXTURE(setup_ring, teardown);
	TEST(a_ring_is_valid);
}
