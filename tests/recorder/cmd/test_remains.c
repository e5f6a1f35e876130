/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, what a dead process left is lost, handed out twice, or crashes who reads it. */
#include "../recording.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "remains.h"
#include "suite.h"

static char arena_path[REMAINS_PATH_BYTES];

/* A process that records some reads, and is killed; its arena is left. */
static void leave_arena(int reads)
{
	int report[2];
	pid_t pid;

	ck_assert_int_eq(pipe(report), 0);
	pid = fork();
	if (pid == 0) {
		recording_begin();
		for (int i = 0; i < reads; i++)
			(void)record_io(1);
		(void)!write(report[1], recorder_arena->path, sizeof(arena_path));
		raise(SIGKILL);
	}
	close(report[1]);
	ck_assert_int_eq((int)read(report[0], arena_path, sizeof(arena_path)),
			 (int)sizeof(arena_path));
	close(report[0]);
	waitpid(pid, NULL, 0);
}

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
		result = remains_recover(&remains, take, sink);
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

START_TEST(the_living_are_alive)
{
	struct remains remains;
	uint64_t start_ticks;

	recording_begin();
	ck_assert_int_eq(remains_open(&remains, recorder_arena->path), 0);
	ck_assert_int_eq(remains_state(&remains), REMAINS_LIVE);
	record_io(1);
	ck_assert_uint_eq(remains_pending(&remains), 1);
	ck_assert_uint_gt(remains_memory(&remains), 0);
	/* Another process with the same pid, later. */
	start_ticks = recorder_arena->start_ticks;
	recorder_arena->start_ticks = start_ticks - 1;
	ck_assert_int_eq(remains_state(&remains), REMAINS_DEAD);
	recorder_arena->start_ticks = start_ticks;
	ck_assert_int_eq(remains_state(&remains), REMAINS_LIVE);
	/* exec: the same process, which has the arena mapped no more. */
	remains_close(&remains);
	ck_assert_int_eq(remains_open(&remains, recorder_arena->path), 0);
	ck_assert_int_eq(remains_remove(&remains), 0);
	memcpy(remains.arena->path, "/dev/shm/wcprof-other", 22);
	ck_assert_int_eq(remains_state(&remains), REMAINS_DEAD);
	remains_close(&remains);
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
		first_chunk(arena)->published = CHUNK_RECORDS + 1;
		break;
	/*  2 */ case 2:
		first_chunk(arena)->drained = CHUNK_RECORDS;
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
		arena->clock.base.mono_ns <<= 1;
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

START_TEST(damage_is_noticed)
{
	struct remains remains;
	struct sink sink = { 0 };

	leave_arena(3);
	ck_assert_int_eq(remains_open(&remains, arena_path), 0);
	damage(remains.arena, _i);
	remains_close(&remains);
	ck_assert_int_eq(recover(&sink), -EINVAL);
	ck_assert_uint_eq(sink.used, 0);
	unlink(arena_path);
}
END_TEST

START_TEST(random_damage_crashes_nothing)
{
	struct remains remains;
	struct sink sink = { 0 };
	uint64_t made;

	srandom((unsigned)_i + 1);
	leave_arena(20);
	ck_assert_int_eq(remains_open(&remains, arena_path), 0);
	made = ARENA_ROSTER + (uint64_t)remains.arena->slots.made * SLOT_BYTES;
	for (int i = 0; i < 40; i++) {
		uint64_t offset = (uint64_t)random() % made;

		/* The header mostly; what is filled of it lies at its beginning. */
		*(unsigned char *)at(remains.arena, i % 2 ? offset : offset % 1024) =
			(unsigned char)random();
	}
	for (int i = 0; i < 200; i++)
		*(unsigned char *)at(remains.arena, ARENA_CHUNKS + (uint64_t)random() % 1400) =
			(unsigned char)random();
	/* Whose it was decides whether it is dead. */
	remains.arena->pid = INT32_MAX;
	remains_close(&remains);
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

SUITE()
{
	clock_start();
	TEST(everything_is_recovered_once);
	TEST(what_the_sink_refuses_is_still_there);
	TEST(who_died_as_drainer_holds_nothing_up);
	LOOP(a_living_process_survives_its_drainers, 0, 2);
	TEST(the_living_are_alive);
	LOOP(damage_is_noticed, 0, DAMAGE_ROWS);
	LOOP(random_damage_crashes_nothing, 0, 100);
	TEST(other_files_are_no_arenas);
}
