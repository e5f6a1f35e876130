/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, what a dead process left is lost, handed out twice, or crashes who reads it. */
#include "left_arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "remains.h"
#include "suite.h"

struct sink {
	char *bytes;
	size_t used;
	int ends;
	int error; /* of the answer */
};

static int take(void *context, const char *bytes, size_t count)
{
	struct sink *sink = context;

	if (sink->error)
		return sink->error;
	sink->ends += count == 0;
	sink->bytes = realloc(sink->bytes, sink->used + count + 1);
	if (count > 0)
		memcpy(sink->bytes + sink->used, bytes, count);
	sink->used += count;
	return 0;
}

/* Opens, recovers, closes. */
static int recover(struct sink *sink)
{
	struct remains remains;
	int result = remains_open(&remains, arena_path);

	*sink = (struct sink){ .error = sink->error };
	if (result == 0) {
		result = remains_recover(&remains, take, sink, false);
		remains_close(&remains);
	}
	return result;
}

START_TEST(everything_is_recovered_once)
{
	struct sink sink = { 0 };
	json_t *lines;

	leave_arena(1000);
	ck_assert_int_eq(recover(&sink), 0);
	ck_assert_int_eq(sink.ends, 1);
	lines = recording_parse(sink.bytes, sink.used);
	ck_assert_uint_eq(count_events(lines, "k", "io"), 1000);
	ck_assert_int_eq(number_of(json_array_get(lines, 0), "event_count"), 1000);
	json_decref(lines);
	/* Nor is it damaged by having been drained, as often as one likes. */
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(recover(&sink), 0);
		lines = recording_parse(sink.bytes, sink.used);
		ck_assert_uint_eq(count_events(lines, "k", "io"), 0);
		json_decref(lines);
	}
	unlink(arena_path);
}
END_TEST

START_TEST(what_the_sink_refuses_is_still_there)
{
	struct sink sink = { .error = -ENOSPC };

	leave_arena(10);
	ck_assert_int_eq(recover(&sink), -ENOSPC);
	sink.error = 0;
	ck_assert_int_eq(recover(&sink), 0);
	ck_assert_ptr_nonnull(strstr(strndup(sink.bytes, sink.used), "\"event_count\":10,"));
	unlink(arena_path);
}
END_TEST

START_TEST(who_could_not_hold_it_is_told)
{
	struct remains remains;
	struct sink sink = { 0 };
	int other;

	leave_arena(10);
	ck_assert_int_eq(remains_open(&remains, arena_path), 0);
	other = open(arena_path, O_RDWR);
	ck_assert_int_eq(flock(other, LOCK_EX | LOCK_NB), 0);
	ck_assert(!remains_hold(&remains));
	ck_assert_int_eq(flock(other, LOCK_UN), 0);
	ck_assert(remains_hold(&remains));
	ck_assert_int_eq(flock(other, LOCK_EX | LOCK_NB), -1);
	ck_assert_int_eq(recover(&sink), -EBUSY);
	close(other);
	remains_close(&remains);
	ck_assert_int_eq(recover(&sink), 0);
	unlink(arena_path);
}
END_TEST

START_TEST(who_died_as_drainer_holds_nothing_up)
{
	struct remains remains;
	struct sink sink = { 0 };

	leave_arena(10);
	ck_assert_int_eq(remains_open(&remains, arena_path), 0);
	remains.arena->drain_owner = 12345;
	remains_close(&remains);
	ck_assert_int_eq(recover(&sink), 0);
	unlink(arena_path);
}
END_TEST

static int die(void *unused, const char *bytes, size_t count)
{
	(void)unused;
	(void)bytes;
	(void)count;
	return raise(SIGKILL);
}

/* Another process drains this one, and is killed in the middle. */
static void die_as_drainer(void)
{
	pid_t pid = fork();
	struct remains remains;
	int status;

	if (pid == 0) {
		if (remains_open(&remains, arena_path) == 0)
			(void)remains_drain_living(&remains, die, NULL);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
}

static uint64_t drain_living(void)
{
	struct sink sink = { 0 };
	struct remains remains;
	json_t *lines;

	ck_assert_int_eq(remains_open(&remains, arena_path), 0);
	ck_assert_int_eq(remains_drain_living(&remains, take, &sink), 0);
	remains_close(&remains);
	lines = recording_parse(sink.bytes, sink.used);
	free(sink.bytes);
	return count_events(lines, "k", "io");
}

/* Row 0: drops what finds no room; row 1: a ring, which does not wait for the dead either. */
START_TEST(a_living_process_survives_its_drainers)
{
	setenv("WCPROF_FULL", _i ? "ring" : "drop", 1);
	setenv("WCPROF_MAX_EVENTS", "10220", 1);
	recording_begin();
	strcpy(arena_path, recorder_arena->path);
	for (int i = 0; i < 100; i++)
		record_io(1);
	die_as_drainer();
	ck_assert_uint_eq(drain_living(), 100);
	ck_assert_uint_eq(recorder_arena->drain_owner, 0);
	for (int i = 0; i < 10000; i++)
		record_io(1);
	die_as_drainer();
	ck_assert_uint_ne(recorder_arena->drain_owner, 0);
	for (int i = 0; i < 50000 * _i; i++)
		record_io(1);
	ck_assert_uint_eq(snapshot_losses(recorder_arena), 0);
	/* Its own dump, too, takes the place of the dead. */
	die_as_drainer();
	ck_assert_uint_ge(count_events(recording_dump(true), "k", "io"), _i ? 10220 : 10000);
	recording_end();
}
END_TEST

static void copy_sparsely(const char *from, const char *to)
{
	char command[3 * REMAINS_PATH_BYTES];

	snprintf(command, sizeof(command), "cp --sparse=always %s %s", from, to);
	ck_assert_int_eq(system(command), 0);
}

/* Another process: who opens an arena has it mapped, too. */
static int state_for_another(const char *path)
{
	struct remains remains;
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(remains_open(&remains, path) == 0 ? (int)remains_state(&remains) : 99);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

START_TEST(the_living_are_alive)
{
	struct remains remains;
	char path[REMAINS_PATH_BYTES + 8];

	recording_begin();
	ck_assert_int_eq(remains_open(&remains, recorder_arena->path), 0);
	ck_assert_int_eq(remains_state(&remains), REMAINS_LIVE);
	record_io(1);
	ck_assert_uint_eq(remains_pending(&remains), 1);
	ck_assert_uint_gt(remains_memory(&remains), 0);
	/* In another time name space its start is another number. */
	recorder_arena->start_ticks--;
	ck_assert_int_eq(remains_state(&remains), REMAINS_LIVE);
	recorder_arena->start_ticks++;
	remains_close(&remains);
	/* exec: the same process, which has the arena mapped no more. */
	snprintf(path, sizeof(path), "%s-copy", recorder_arena->path);
	copy_sparsely(recorder_arena->path, path);
	ck_assert_int_eq(state_for_another(recorder_arena->path), REMAINS_LIVE);
	ck_assert_int_eq(state_for_another(path), REMAINS_DEAD);
	/* Another process with the same pid, later. */
	recorder_arena->start_ticks--;
	copy_sparsely(recorder_arena->path, path);
	ck_assert_int_eq(state_for_another(recorder_arena->path), REMAINS_LIVE);
	ck_assert_int_eq(state_for_another(path), REMAINS_DEAD);
	recorder_arena->start_ticks++;
	unlink(path);
}
END_TEST

/* --- Damage ----------------------------------------------------------------------------------- */

static void *at(struct arena *arena, uint64_t offset)
{
	return (char *)arena + offset;
}

static struct chunk *first_chunk(struct arena *arena)
{
	return at(arena, ARENA_CHUNKS);
}

static struct string_entry *first_string(struct arena *arena)
{
	return at(arena, ARENA_STRINGS + sizeof(struct string_entry));
}

static struct stack_entry *first_stack(struct arena *arena)
{
	arena->stack_count = 1;
	return at(arena, ARENA_STACKS + sizeof(struct stack_entry));
}

static void damage(struct arena *arena, int row)
{
	struct module_entry *module = at(arena, ARENA_MODULES);

	switch (row) {
	/*  0 */ case 0:
		arena->chunks.made = arena->chunks.max + 1;
		break;
	/*  1 */ case 1:
		first_chunk(arena)->published = CHUNK_RECORDS * EXTENT_RECORD + CHUNK_WORDS + 1;
		break;
	/*  2 */ case 2:
		first_chunk(arena)->drained = CHUNK_RECORDS * EXTENT_RECORD + CHUNK_WORDS;
		break;
	/*  3 */
	case 3:
		first_stack(arena)->count = STACK_FRAMES_MAX + 1;
		break;
	/*  4 */ case 4:
		first_string(arena)->offset = STRING_POOL_BYTES;
		break;
	/*  5 */ case 5:
		first_string(arena)->bytes = 1 << 30;
		break;
	/*  6 */
	case 6:
		first_stack(arena)->offset = STACK_POOL_WORDS + 1;
		break;
	/*  7 */ case 7:
		arena->module_count = MODULES_MAX + 1;
		break;
	/*  8 */ case 8:
		memset(module->path, 'x', sizeof(module->path));
		break;
	/*  9 */ case 9:
		module->build_id_bytes = 21;
		break;
	/* 10 */ case 10:
		arena->argv_bytes = sizeof(arena->argv) + 1;
		break;
	/* 11 */ case 11:
		arena->slots.made = ROSTER_SLOTS + 1;
		break;
	/* 12 */ case 12:
		arena->bytes -= CHUNK_BYTES;
		break;
	/* 13 */ case 13:
		arena->chunks.max++;
		break;
	/* 14 */ case 14:
		memset(arena->exe, 'x', sizeof(arena->exe));
		break;
	/* 15 */ case 15:
		memset(arena->host, 'x', sizeof(arena->host));
		break;
	/* 16 */ case 16:
		memset(arena->socket, 'x', sizeof(arena->socket));
		break;
	/* 17 */ case 17:
		arena->magic++;
		break;
	/* 18 */
	case 18:
		arena->clock.base.mono_ns |= UINT64_C(1) << 63;
		break;
	/* 19 */
	case 19:
		arena->clock.base.ticks = UINT64_MAX;
		break;
	default:
		ck_abort_msg("no such row");
	}
}

enum { DAMAGE_ROWS = 20 };

/* As the process has it: what remains_open() maps has constants of its own. */
static struct arena *map_arena(size_t *bytes)
{
	int fd = open(arena_path, O_RDWR);
	struct arena *arena;
	struct stat stat;

	ck_assert_int_eq(fstat(fd, &stat), 0);
	*bytes = (size_t)stat.st_size;
	arena = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(arena, MAP_FAILED);
	close(fd);
	return arena;
}

START_TEST(damage_is_noticed)
{
	struct sink sink = { 0 };
	struct arena *arena;
	size_t bytes;

	leave_arena(3);
	arena = map_arena(&bytes);
	damage(arena, _i);
	munmap(arena, bytes);
	ck_assert_int_eq(recover(&sink), -EINVAL);
	ck_assert_uint_eq(sink.used, 0);
	unlink(arena_path);
}
END_TEST

START_TEST(random_damage_crashes_nothing)
{
	struct sink sink = { 0 };
	struct arena *arena;
	size_t bytes;
	uint64_t made;

	srandom((unsigned)_i + 1);
	leave_arena(20);
	arena = map_arena(&bytes);
	made = ARENA_ROSTER + (uint64_t)arena->slots.made * SLOT_BYTES;
	for (int i = 0; i < 40; i++) {
		uint64_t offset = (uint64_t)random() % made;

		/* The header mostly; what is filled of it lies at its beginning. */
		*(unsigned char *)at(arena, i % 2 ? offset : offset % 1024) =
			(unsigned char)random();
	}
	for (int i = 0; i < 200; i++)
		*(unsigned char *)at(arena, ARENA_CHUNKS + (uint64_t)random() % 1400) =
			(unsigned char)random();
	/* Whose it was decides whether it is dead. */
	arena->pid = INT32_MAX;
	munmap(arena, bytes);
	(void)recover(&sink);
	unlink(arena_path);
}
END_TEST

START_TEST(other_files_are_no_arenas)
{
	struct remains remains;
	char path[] = "/dev/shm/wcprof-test-XXXXXX", link[64];
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(remains_open(&remains, path), -EAGAIN);
	ck_assert_int_eq((int)write(fd, "hello", 5), 5);
	ck_assert_int_eq(remains_open(&remains, path), -EINVAL);
	ck_assert_int_eq(ftruncate(fd, ARENA_CHUNKS + CHUNK_BYTES), 0);
	ck_assert_int_eq(remains_open(&remains, path), -EINVAL);
	snprintf(link, sizeof(link), "%s-link", path);
	ck_assert_int_eq(symlink(path, link), 0);
	ck_assert_int_eq(remains_open(&remains, link), -ELOOP);
	ck_assert_int_eq(remains_open(&remains, "/dev/shm"), -EISDIR);
	ck_assert_int_eq(remains_open(&remains, "/dev/null"), -EINVAL);
	ck_assert_int_eq(remains_open(&remains, "/dev/shm/wcprof-none"), -ENOENT);
	unlink(link);
	unlink(path);
}
END_TEST

/* --- Who goes on writing ---------------------------------------------------------------------- */

/* A process does this to its arena while it is drained, between two pieces of the dump. */
struct spoiler {
	struct sink sink;
	struct arena *arena;
	void (*spoil)(struct arena *arena);
	uint64_t bytes_most;
};

static int spoil_and_take(void *context, const char *bytes, size_t count)
{
	struct spoiler *spoiler = context;

	spoiler->spoil(spoiler->arena);
	spoiler->sink.used += count;
	(void)bytes;
	/* The whole of it is some kilobytes. */
	ck_assert_uint_lt(spoiler->sink.used, 16 << 20);
	return 0;
}

static void spoil_chunks(struct arena *arena)
{
	first_chunk(arena)->published = UINT32_MAX;
	first_chunk(arena)->snapshot = UINT32_MAX;
	first_chunk(arena)->threads_ended = UINT32_MAX;
}

static void spoil_chunk_count(struct arena *arena)
{
	arena->chunks.made = UINT32_MAX;
	arena->chunks.max = 0;
}

static void spoil_slots(struct arena *arena)
{
	arena->slots.made = UINT32_MAX;
}

static void spoil_tables(struct arena *arena)
{
	arena->module_count = UINT32_MAX;
	arena->object_count = UINT32_MAX;
	arena->peers_sought = UINT32_MAX;
	arena->string_count = UINT32_MAX;
	arena->stack_count = UINT32_MAX;
	first_string(arena)->offset = UINT32_MAX - 16;
}

static void spoil_pools(struct arena *arena)
{
	arena->string_bytes = UINT32_MAX - 8;
	memset(&arena->chunks, 0xff, sizeof(arena->chunks));
}

static void spoil_constants(struct arena *arena)
{
	memset(arena->exe, 'x', sizeof(arena->exe));
	arena->argv_bytes = UINT32_MAX;
	arena->chunks_most = UINT32_MAX;
	arena->bytes = UINT64_MAX;
}

static void spoil_watches(struct arena *arena)
{
	struct slot *slot = at(arena, ARENA_ROSTER);

	for (int i = 0; i < SLOT_ENTRIES; i++) {
		slot->entries[i].handle = (uint64_t)(i + 1) << 32;
		slot->entries[i].record.type = RECORD_OP;
		slot->entries[i].record.what = KIND_HOLD;
		slot->entries[i].record.fd = INT32_MAX - i;
	}
}

static void shorten(struct arena *arena)
{
	(void)arena;
	ck_assert_int_eq(truncate(arena_path, ARENA_CHUNKS), 0);
}

static const struct {
	void (*spoil)(struct arena *arena);
	int result; /* 1: 0, or that it is damaged */
} spoils[] = {
	/* 0 */ { spoil_chunks, 1 },  /* 1 */ { spoil_chunk_count, 1 },
	/* 2 */ { spoil_slots, 1 },   /* 3 */ { spoil_tables, 1 },
	/* 4 */ { spoil_pools, 1 },   /* 5 */ { spoil_constants, 1 },
	/* 6 */ { spoil_watches, 1 }, /* 7 */ { shorten, -ESTALE },
};

static void spoil_while(int row, bool is_living, bool is_before)
{
	struct spoiler spoiler = { .spoil = spoils[row].spoil };
	struct remains remains;
	size_t bytes;
	int result;

	leave_arena(1000);
	spoiler.arena = map_arena(&bytes);
	ck_assert_int_eq(remains_open(&remains, arena_path), 0);
	if (is_before)
		spoiler.spoil(spoiler.arena);
	result = is_living ? remains_drain_living(&remains, spoil_and_take, &spoiler)
			   : remains_recover(&remains, spoil_and_take, &spoiler, false);
	if (spoils[row].result == 1)
		ck_assert(result == 0 || result == -EINVAL || result == -ENOMEM);
	else
		ck_assert_int_eq(result, spoils[row].result);
	(void)remains_pending(&remains);
	(void)remains_state(&remains);
	remains_close(&remains);
	munmap(spoiler.arena, bytes);
	unlink(arena_path);
}

START_TEST(a_living_process_may_overwrite_its_arena)
{
	spoil_while(_i % 8, true, _i >= 8);
}
END_TEST

START_TEST(a_dead_arena_may_be_written_to)
{
	spoil_while(_i % 8, false, _i >= 8);
}
END_TEST

SUITE()
{
	clock_start();
	TEST(everything_is_recovered_once);
	TEST(what_the_sink_refuses_is_still_there);
	TEST(who_could_not_hold_it_is_told);
	TEST(who_died_as_drainer_holds_nothing_up);
	LOOP(a_living_process_survives_its_drainers, 0, 2);
	TEST(the_living_are_alive);
	LOOP(damage_is_noticed, 0, DAMAGE_ROWS);
	LOOP(random_damage_crashes_nothing, 0, 100);
	TEST(other_files_are_no_arenas);
	LOOP(a_living_process_may_overwrite_its_arena, 0, 16);
	LOOP(a_dead_arena_may_be_written_to, 0, 16);
}
