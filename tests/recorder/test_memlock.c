/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a real-time program locks the recording into memory, or not all of its own. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "recording.h"
#include "suite.h"

enum { MEGABYTE = 1 << 20 };

static int asked = -1;

/* The kernel's part of it, of which there is none but for what comes later. */
static int ask_kernel(int flags)
{
	asked = flags;
	return flags & MCL_CURRENT ? (errno = ENOMEM, -1) : mlockall(flags);
}

static long locked_kb(void)
{
	char line[200];
	long kb = -1;
	FILE *file = fopen("/proc/self/status", "r");

	while (fgets(line, sizeof(line), file))
		(void)sscanf(line, "VmLck: %ld", &kb);
	fclose(file);
	return kb;
}

/* Pages of a range that are locked, by the flags that smaps shows. */
static bool is_locked(const void *at)
{
	char line[512];
	bool is_here = false, is_found = false;
	unsigned long start, end;
	FILE *file = fopen("/proc/self/smaps", "r");

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			is_here = (unsigned long)at >= start && (unsigned long)at < end;
		if (is_here && strncmp(line, "VmFlags:", 8) == 0)
			is_found = strstr(line, " lo") != NULL;
	}
	fclose(file);
	return is_found;
}

static void setup(void)
{
	recording_begin();
	ck_assert_int_eq(recorder_lock_all(MCL_CURRENT, ask_kernel), 0);
}

/* A sanitizer's shadow is too large to be locked. */
static bool may_lock(void)
{
	bool may = !SANITIZED && mlockall(MCL_CURRENT) == 0;

	munlockall();
	return may;
}

START_TEST(the_programs_memory_is_locked_and_the_arena_is_not)
{
	char *own =
		mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert(!is_locked(own));
	ck_assert_int_eq(recorder_lock_all(MCL_CURRENT, ask_kernel), 0);
	ck_assert(is_locked(own));
	ck_assert(is_locked(&own));
	ck_assert(!is_locked(recorder_arena));
	ck_assert_int_lt(locked_kb(), (long)(recorder_arena->bytes >> 10));
	ck_assert_int_eq(asked, -1);
	munlockall();
	recording_end();
}
END_TEST

START_TEST(later_mappings_are_the_kernels_to_lock)
{
	char *own;

	ck_assert_int_eq(recorder_lock_all(MCL_CURRENT | MCL_FUTURE, ask_kernel), 0);
	ck_assert_int_eq(asked, MCL_FUTURE);
	own = mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(is_locked(own));
	munlockall();
	recording_end();
}
END_TEST

/* As the kernel does it: the flag is of the last call. */
START_TEST(later_mappings_are_no_longer_locked)
{
	char *own;

	ck_assert_int_eq(recorder_lock_all(MCL_FUTURE, mlockall), 0);
	ck_assert_int_eq(recorder_lock_all(MCL_CURRENT, ask_kernel), 0);
	own = mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(!is_locked(own));
	ck_assert(is_locked(&own));
	ck_assert(!is_locked(recorder_arena));
	munlockall();
	recording_end();
}
END_TEST

/* The capability of a later user name space does not count: the limit does, and the kernel says
 * so. */
START_TEST(rights_in_another_user_name_space_are_none)
{
	struct rlimit limit = { 65536, 65536 };

	munlockall();
	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	ck_assert_int_eq(unshare(CLONE_NEWUSER), 0);
	ck_assert_int_eq(recorder_lock_all(MCL_CURRENT, ask_kernel), -1);
	ck_assert_int_eq(asked, MCL_CURRENT);
	ck_assert(!is_locked(&limit));
}
END_TEST

static bool may_become_another_user_name_space(void)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0)
		_exit(unshare(CLONE_NEWUSER) != 0);
	return waitpid(child, &status, 0) == child && status == 0;
}

static void setup_where_addresses_are_few(void)
{
	struct rlimit limit = { 400L << 20, 400L << 20 };

	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	setup();
}

/* The arena then has holes, in which anything may be mapped. */
START_TEST(the_programs_memory_between_the_arenas_is_locked)
{
	char *hole = arena_at(recorder_arena, ARENA_STRINGS - 2 * ARENA_GRANULE_BYTES);
	char *own = mmap(hole, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	ck_assert_ptr_eq(own, hole);
	ck_assert_int_eq(recorder_lock_all(MCL_CURRENT, ask_kernel), 0);
	ck_assert(is_locked(own));
	ck_assert(!is_locked(recorder_arena));
	ck_assert(!is_locked(arena_at(recorder_arena, ARENA_CHUNKS)));
	munlockall();
	recording_end();
}
END_TEST

START_TEST(flags_that_are_none_are_the_kernels_to_refuse)
{
	static const int flags[] = { 0, 64, MCL_CURRENT | 64, MCL_FUTURE };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		(void)recorder_lock_all(flags[i], ask_kernel);
		ck_assert_int_eq(asked, flags[i]);
	}
	munlockall();
	recording_end();
}
END_TEST

SUITE()
{
	SKIP_UNLESS(may_lock(), "locking memory takes root, or a high limit (ulimit -l)");
	FIXTURE(setup, NULL);
	TEST(the_programs_memory_is_locked_and_the_arena_is_not);
	TEST(later_mappings_are_the_kernels_to_lock);
	TEST(later_mappings_are_no_longer_locked);
	TEST(flags_that_are_none_are_the_kernels_to_refuse);
	if (may_become_another_user_name_space())
		TEST(rights_in_another_user_name_space_are_none);
	FIXTURE(setup_where_addresses_are_few, NULL);
	TEST(the_programs_memory_between_the_arenas_is_locked);
}
