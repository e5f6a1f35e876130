/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, recordings of dead processes fill the machine, or one is removed that somebody
 * needs. Skipped where no tmpfs of our own can be mounted.
 */
#include "leftovers.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "identity.h"
#include "recording.h"
#include "suite.h"

enum { MEGABYTE = 1 << 20, NOBODY = 65534, MADE = 1000000 };

static bool mount_small(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", ARENA_DIRECTORY, "tmpfs", 0, "size=256m") == 0;
}

static bool may_mount(void)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0)
		_exit(!mount_small());
	return waitpid(child, &status, 0) == child && status == 0;
}

static void setup(void)
{
	ck_assert(mount_small());
	recording_begin();
}

struct left {
	char path[128];
};

/* The arena of a process that is gone, of a megabyte and a bit; the later, the newer. */
static struct left leave(int nth)
{
	struct left left = { "" };
	struct timespec times[2] = { { MADE + nth, 0 }, { MADE + nth, 0 } };
	int ends[2];
	pid_t child;

	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		struct arena *arena = arena_create((uint32_t)syscall(SYS_getpid), 1, 0, 100000);

		arena->pid_namespace = identity_pid_namespace();
		for (int i = 0; i < MEGABYTE / CHUNK_BYTES; i++)
			arena_populate(arena, ARENA_CHUNKS + (uint64_t)i * CHUNK_BYTES,
				       CHUNK_BYTES);
		if (write(ends[1], arena->path, sizeof(left.path)) < 0)
			abort();
		_exit(0);
	}
	ck_assert_int_eq(read(ends[0], left.path, sizeof(left.path)), sizeof(left.path));
	waitpid(child, NULL, 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, left.path, times, 0), 0);
	close(ends[0]);
	close(ends[1]);
	return left;
}

static bool is_there(const struct left *left)
{
	return access(left->path, F_OK) == 0;
}

static void write_at(const struct left *left, size_t offset, uint64_t value, size_t bytes)
{
	int fd = open(left->path, O_WRONLY);
	struct stat stat;
	struct timespec times[2];

	ck_assert_int_eq(fstat(fd, &stat), 0);
	times[0] = times[1] = stat.st_mtim;
	ck_assert_int_eq(pwrite(fd, &value, bytes, (off_t)offset), (ssize_t)bytes);
	ck_assert_int_eq(futimens(fd, times), 0);
	close(fd);
}

static void as_another_version(struct left *left)
{
	write_at(left, offsetof(struct arena, version), FORMAT_HEAD_VERSION - 1, 4);
}

START_TEST(the_oldest_go_until_there_is_little_enough)
{
	struct left left[6];

	for (int i = 0; i < 6; i++)
		left[i] = leave(i);
	ck_assert(leftovers_remove(recorder_arena, 64 * MEGABYTE));
	for (int i = 0; i < 6; i++)
		ck_assert(is_there(&left[i]));
	/* Each takes 32 KB more. */
	ck_assert(leftovers_remove(recorder_arena, 4 * MEGABYTE));
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(is_there(&left[i]), i >= 3);
	ck_assert_uint_eq(recorder_arena->counters[COUNTER_removed_leftovers], 3);
}
END_TEST

/* Neither are they removed, nor do they count. */
START_TEST(many_that_cannot_be_removed_are_not_in_the_way)
{
	struct left left[4];

	for (int i = 0; i < 100; i++) {
		left[0] = leave(i);
		as_another_version(&left[0]);
	}
	for (int i = 0; i < 4; i++)
		left[i] = leave(100 + i);
	ck_assert(leftovers_remove(recorder_arena, 3 * MEGABYTE));
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(is_there(&left[i]), i >= 2);
}
END_TEST

START_TEST(later_versions_are_removed)
{
	struct left left[2] = { leave(0), leave(1) };

	write_at(&left[0], offsetof(struct arena, version), FORMAT_VERSION + 1, 4);
	ck_assert(leftovers_remove(recorder_arena, 0));
	ck_assert(!is_there(&left[0]));
}
END_TEST

START_TEST(the_newest_stays_however_large)
{
	struct left left[2] = { leave(0), leave(1) };

	ck_assert(leftovers_remove(recorder_arena, 0));
	ck_assert(!is_there(&left[0]));
	ck_assert(is_there(&left[1]));
	ck_assert_int_eq(access(recorder_arena->path, F_OK), 0);
}
END_TEST

static void as_a_living_ones(struct left *left)
{
	struct left renamed;

	/* The parent of this process, whose start is another. */
	snprintf(renamed.path, sizeof(renamed.path), ARENA_DIRECTORY "/wcprof-%d-%d-77-0",
		 (int)geteuid(), (int)getppid());
	ck_assert_int_eq(rename(left->path, renamed.path), 0);
	write_at(&renamed, offsetof(struct arena, pid), (uint64_t)getppid(), 4);
	*left = renamed;
}

static void as_another_name_spaces(struct left *left)
{
	write_at(left, offsetof(struct arena, pid_namespace), 4711, 8);
}

static void as_of_no_name_space(struct left *left)
{
	write_at(left, offsetof(struct arena, pid_namespace), 0, 8);
}

static void as_followed(struct left *left)
{
	int fd = open(left->path, O_RDWR);

	write_at(left, offsetof(struct arena, is_kept), 1, 4);
	ck_assert_int_eq(flock(fd, LOCK_SH), 0);
}

static void as_made_so_long_ago(struct left *left, time_t seconds)
{
	struct timespec times[2] = { { time(NULL) - seconds, 0 }, { time(NULL) - seconds, 0 } };

	write_at(left, offsetof(struct arena, is_kept), 1, 4);
	ck_assert_int_eq(utimensat(AT_FDCWD, left->path, times, 0), 0);
}

static void as_just_begun(struct left *left)
{
	write_at(left, offsetof(struct arena, magic), 0, 8);
}

static void as_another_users(struct left *left)
{
	ck_assert_int_eq(chown(left->path, NOBODY, NOBODY), 0);
}

static void as_linked_twice(struct left *left)
{
	ck_assert_int_eq(link(left->path, ARENA_DIRECTORY "/other"), 0);
}

static void as_a_link(struct left *left)
{
	ck_assert_int_eq(rename(left->path, ARENA_DIRECTORY "/other"), 0);
	ck_assert_int_eq(symlink(ARENA_DIRECTORY "/other", left->path), 0);
}

static void as_short(struct left *left)
{
	struct timespec times[2] = { { MADE, 0 }, { MADE, 0 } };

	ck_assert_int_eq(truncate(left->path, 8), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, left->path, times, 0), 0);
}

static void as_being_saved(struct left *left)
{
	int fd = open(left->path, O_RDWR);

	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
}

static void (*const kept[])(struct left *) = {
	as_a_living_ones, as_another_name_spaces, as_of_no_name_space,
	as_followed,      as_another_version,     as_just_begun,
	as_another_users, as_linked_twice,        as_a_link,
	as_short,         as_being_saved,
};

START_TEST(what_is_no_leftover_is_left_alone)
{
	struct left left[3] = { leave(0), leave(1), leave(2) };

	kept[_i](&left[0]);
	ck_assert(leftovers_remove(recorder_arena, 0));
	ck_assert(is_there(&left[0]));
	ck_assert(!is_there(&left[1]));
	ck_assert(is_there(&left[2]));
}
END_TEST

/* The command that follows has not come to it yet; or was killed. */
START_TEST(what_nobody_follows_any_more_is_removed)
{
	struct left left[3] = { leave(0), leave(1), leave(2) };

	as_made_so_long_ago(&left[0], 2 * 3600);
	as_made_so_long_ago(&left[1], 60);
	as_made_so_long_ago(&left[2], 0);
	write_at(&left[2], offsetof(struct arena, is_kept), 0, 4);
	ck_assert(leftovers_remove(recorder_arena, 0));
	ck_assert(!is_there(&left[0]));
	ck_assert(is_there(&left[1]));
	ck_assert(is_there(&left[2]));
}
END_TEST

/* By exec; and never the arena that this image has now. */
START_TEST(earlier_images_of_this_process_are_dead)
{
	struct left left[2] = { leave(0), leave(1) }, earlier;

	ck_assert_uint_eq(recorder_arena->generation, 0);
	snprintf(earlier.path, sizeof(earlier.path), ARENA_DIRECTORY "/wcprof-%d-%u-%llu-0",
		 (int)geteuid(), recorder_arena->pid,
		 (unsigned long long)recorder_arena->start_ticks);
	ck_assert_str_eq(earlier.path, recorder_arena->path);
	ck_assert(leftovers_remove(recorder_arena, 0));
	ck_assert(is_there(&earlier));
	recorder_arena->generation = 1;
	ck_assert_int_eq(rename(left[1].path, earlier.path), 0);
	write_at(&earlier, offsetof(struct arena, pid), recorder_arena->pid, 4);
	left[1] = leave(2);
	ck_assert(leftovers_remove(recorder_arena, 0));
	ck_assert(!is_there(&earlier));
	ck_assert(is_there(&left[1]));
}
END_TEST

/* More than one look can note. */
START_TEST(many_go_in_several_looks)
{
	struct left last;
	int looks = 1;

	for (int i = 0; i < 150; i++)
		last = leave(i);
	while (!leftovers_remove(recorder_arena, 0))
		looks++;
	ck_assert_int_ge(looks, 3);
	ck_assert(is_there(&last));
	ck_assert_uint_eq(recorder_arena->counters[COUNTER_removed_leftovers], 149);
}
END_TEST

START_TEST(children_leave_it_to_their_parents_for_a_while)
{
	struct left left[2] = { leave(0), leave(1) };

	recorder_options.leftover_mb = 0;
	gate_facts.generation = 1;
	leftovers_tick(recorder_arena, 1);
	ck_assert(is_there(&left[0]));
	leftovers_forget();
	gate_facts.generation = 0;
	leftovers_tick(recorder_arena, 1);
	ck_assert(!is_there(&left[0]));
}
END_TEST

SUITE()
{
	SKIP_UNLESS(may_mount(), "mounting a small tmpfs takes root");
	FIXTURE(setup, NULL);
	TEST(the_oldest_go_until_there_is_little_enough);
	TEST(many_that_cannot_be_removed_are_not_in_the_way);
	TEST(later_versions_are_removed);
	TEST(the_newest_stays_however_large);
	EACH(what_is_no_leftover_is_left_alone, kept);
	TEST(what_nobody_follows_any_more_is_removed);
	TEST(earlier_images_of_this_process_are_dead);
	TEST(many_go_in_several_looks);
	TEST(children_leave_it_to_their_parents_for_a_while);
}
