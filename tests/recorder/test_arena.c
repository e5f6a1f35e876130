/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a full /dev/shm kills the program, or a killed program's recording is lost. */
#include "arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "recording.h"
#include "suite.h"

enum { EVENTS = 10000, START = 4711 };

static struct arena *create(void)
{
	clock_start();
	return arena_create((uint32_t)getpid(), START, 0, EVENTS);
}

START_TEST(the_file_is_the_users_alone)
{
	struct arena *arena = create();
	char expected[128];
	struct stat stat;

	ck_assert_ptr_nonnull(arena);
	ck_assert_uint_eq(arena->anonymous, 0);
	snprintf(expected, sizeof(expected), "/dev/shm/wcprof-%d-%d-%d-0", (int)geteuid(),
		 (int)getpid(), START);
	ck_assert_str_eq(arena->path, expected);
	ck_assert_int_eq(lstat(arena->path, &stat), 0);
	ck_assert_int_eq(stat.st_mode & 07777, 0600);
	ck_assert_uint_eq((uint64_t)stat.st_size, arena->bytes);
	/* Sparse: only the header takes memory yet. */
	ck_assert_int_le(stat.st_blocks * 512, 65536);
	arena_unlink(arena);
	ck_assert_int_ne(lstat(expected, &stat), 0);
}
END_TEST

START_TEST(no_descriptor_stays_open)
{
	int before = dup(0);
	struct arena *arena = create();

	ck_assert_int_eq(dup(0), before + 1);
	arena_unlink(arena);
}
END_TEST

START_TEST(a_name_that_is_taken_is_left_alone)
{
	struct arena *first = create();
	struct arena *second = create();

	ck_assert_uint_eq(second->generation, 1);
	ck_assert_str_ne(first->path, second->path);
	arena_unlink(first);
	arena_unlink(second);
}
END_TEST

START_TEST(a_limit_on_file_sizes_is_no_signal_but_private_memory)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	struct arena *arena;

	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	arena = create();
	ck_assert_ptr_nonnull(arena);
	ck_assert_uint_eq(arena->anonymous, 1);
	ck_assert(arena_ready(arena, ARENA_STRINGS, 64));
	memset(arena_at(arena, ARENA_STRINGS), 1, 64);
}
END_TEST

START_TEST(sections_are_populated_once_and_remembered)
{
	struct arena *arena = create();
	unsigned char resident = 0;

	ck_assert(!arena_granule_is_ready(arena, ARENA_STACKS / ARENA_GRANULE_BYTES));
	ck_assert(arena_ready(arena, ARENA_STACKS + 8, 8));
	ck_assert(arena_granule_is_ready(arena, ARENA_STACKS / ARENA_GRANULE_BYTES));
	ck_assert_int_eq(mincore(arena_at(arena, ARENA_STACKS), 4096, &resident), 0);
	ck_assert_int_eq(resident & 1, 1);
	/* Across a granule's end: both. */
	ck_assert(arena_ready(arena, ARENA_STACKS + ARENA_GRANULE_BYTES - 4, 8));
	ck_assert(arena_granule_is_ready(arena, ARENA_STACKS / ARENA_GRANULE_BYTES + 1));
	arena_unlink(arena);
}
END_TEST

/* Memory that is gone is an answer, never a SIGBUS; and the next event does not pay for asking
 * again. */
/* Each pattern of what is ready, of items that lie on two granules here and there. */
START_TEST(items_with_memory_are_found_one_after_the_other)
{
	enum { GRANULES = 6, ITEM = 88, ITEMS = GRANULES * ARENA_GRANULE_BYTES / ITEM };
	struct arena *arena = create();
	uint64_t first = ARENA_WATCHES / ARENA_GRANULE_BYTES;

	for (uint32_t pattern = 0; pattern < 1 << GRANULES; pattern++) {
		uint32_t next;

		for (uint64_t i = 0; i < GRANULES + 1; i++) {
			uint64_t bit = UINT64_C(1) << ((first + i) % 64);

			arena->ready[(first + i) / 64] &= ~bit;
			arena->ready[(first + i) / 64] |= pattern >> i & 1 ? bit : 0;
		}
		next = arena_next_ready(arena, ARENA_WATCHES, ITEM, 0, ITEMS);
		for (uint32_t i = 0; i < ITEMS; i++) {
			uint64_t at = ARENA_WATCHES + (uint64_t)i * ITEM;
			bool is_ready = arena_granule_is_ready(arena, at / ARENA_GRANULE_BYTES) &&
					arena_granule_is_ready(arena, (at + ITEM - 1) /
									      ARENA_GRANULE_BYTES);

			ck_assert_int_eq(next == i, is_ready);
			if (is_ready)
				next = arena_next_ready(arena, ARENA_WATCHES, ITEM, i + 1, ITEMS);
		}
		ck_assert_uint_eq(next, ITEMS);
	}
	arena_unlink(arena);
}
END_TEST

START_TEST(memory_that_has_run_out_is_an_answer)
{
	struct arena *arena = create();
	uint64_t at = ARENA_CHUNKS;
	uint64_t kept = arena->bytes;

	/* A file that ends early has no room: populating fails as it does on a full file system. */
	ck_assert_int_eq(truncate(arena->path, ARENA_CHUNKS), 0);
	ck_assert(!arena_populate(arena, at, 4096));
	ck_assert_uint_gt(arena->starved_until, 0);
	ck_assert_int_eq(truncate(arena->path, (off_t)kept), 0);
	ck_assert(!arena_populate(arena, at, 4096));
	arena->starved_until = 0;
	ck_assert(arena_populate(arena, at, 4096));
	arena_unlink(arena);
}
END_TEST

/* Its tables have their beginnings only, and what is mapped in between is not ours. */
START_TEST(where_addresses_are_few_it_is_small)
{
	struct rlimit limit = { 400L << 20, 400L << 20 };
	struct arena *arena;
	char *hole, *other;

	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	arena = create();
	ck_assert_ptr_nonnull(arena);
	ck_assert(arena_ready(arena, ARENA_STACK_POOL, 64));
	memset(arena_at(arena, ARENA_STACK_POOL), 1, 64);
	hole = arena_at(arena, ARENA_WATCHES - 2 * ARENA_GRANULE_BYTES);
	other = mmap(hole, 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	ck_assert_ptr_eq(other, hole);
	ck_assert(!arena_ready(arena, (uint64_t)(hole - (char *)arena), 64));
	ck_assert_uint_eq(arena->starved_until, 0);
	ck_assert(!arena_populate(arena, ARENA_STRINGS - SLOT_BYTES, SLOT_BYTES));
	ck_assert(arena_populate(arena, ARENA_CHUNKS, CHUNK_BYTES));
	arena_unlink(arena);
	arena_forget(arena, false);
	*other = 1;
}
END_TEST

START_TEST(where_there_are_hardly_any_there_is_none)
{
	struct rlimit limit = { 100L << 20, 100L << 20 };

	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	ck_assert_ptr_null(create());
}
END_TEST

START_TEST(what_a_killed_process_wrote_is_there)
{
	int pipe_fds[2];
	char path[128] = "";
	struct arena *found;
	pid_t child;
	int fd;

	ck_assert_int_eq(pipe(pipe_fds), 0);
	child = fork();
	if (child == 0) {
		struct arena *arena = create();

		arena_populate(arena, ARENA_CHUNKS, 4096);
		memcpy(arena_at(arena, ARENA_CHUNKS), "survives", 9);
		if (write(pipe_fds[1], arena->path, sizeof(path)) > 0)
			raise(SIGKILL);
		_exit(1);
	}
	ck_assert_int_eq(read(pipe_fds[0], path, sizeof(path)), sizeof(path));
	waitpid(child, NULL, 0);
	fd = open(path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	found = mmap(NULL, ARENA_CHUNKS + 4096, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_uint_eq(found->magic, ARENA_MAGIC);
	ck_assert_uint_eq(found->pid, (uint32_t)child);
	ck_assert_str_eq(arena_at(found, ARENA_CHUNKS), "survives");
	unlink(path);
}
END_TEST

START_TEST(a_child_forgets_without_touching_the_parents)
{
	struct arena *arena = create();
	pid_t child;
	int status;

	for (int interrupted = 0; interrupted < 2; interrupted++) {
		child = fork();
		if (child == 0) {
			arena_forget(arena, interrupted);
			/* Whoever was interrupted in the middle of a record may go on: it writes
			 * to nobody's memory. */
			if (interrupted)
				arena->version = 99;
			_exit(0);
		}
		waitpid(child, &status, 0);
		ck_assert_int_eq(status, 0);
		ck_assert_uint_eq(arena->version, FORMAT_VERSION);
	}
	arena_unlink(arena);
}
END_TEST

SUITE()
{
	TEST(the_file_is_the_users_alone);
	TEST(no_descriptor_stays_open);
	TEST(a_name_that_is_taken_is_left_alone);
	TEST(a_limit_on_file_sizes_is_no_signal_but_private_memory);
	TEST(sections_are_populated_once_and_remembered);
	TEST(items_with_memory_are_found_one_after_the_other);
	TEST(memory_that_has_run_out_is_an_answer);
	if (!SANITIZED)
		TEST(where_addresses_are_few_it_is_small);
	if (!SANITIZED)
		TEST(where_there_are_hardly_any_there_is_none);
	TEST(what_a_killed_process_wrote_is_there);
	TEST(a_child_forgets_without_touching_the_parents);
}
