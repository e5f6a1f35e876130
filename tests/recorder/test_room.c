/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the arena takes memory that the program needs. */
#include "room.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "spare.h"
#include "suite.h"

enum { MEGABYTE = 1 << 20 };

static struct cgroups cgroups;

/* --- A cgroup of 64 MB of which 4 are used ---------------------------------------------------- */

static char top[] = "/tmp/wcprof-room.XXXXXX";

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, text, top);
	fclose(file);
}

static void setup(void)
{
	char memberships[64], mounts[64];

	clock_start();
	ck_assert(spare_start());
	ck_assert_ptr_nonnull(mkdtemp(top));
	put("cgroup", "0::/\n");
	put("mounts", "30 25 0:27 / %s rw - cgroup2 cgroup2 rw\n");
	put("memory.max", "67108864\n");
	put("memory.current", "4194304\n");
	snprintf(memberships, sizeof(memberships), "%s/cgroup", top);
	snprintf(mounts, sizeof(mounts), "%s/mounts", top);
	cgroups_find(&cgroups, "memory", memberships, mounts);
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	ck_assert_int_eq(system(command), 0);
}

static void keep(void *context, const struct room_bound *bound)
{
	struct room_bound *bounds = context;

	bounds[bound->rule] = *bound;
}

static struct room_bound bound_by(enum room_rule rule, uint64_t own)
{
	struct room_bound bounds[ROOM_RULES] = { 0 };

	room_each(&cgroups, own, keep, bounds);
	return bounds[rule];
}

START_TEST(an_eighth_of_what_is_left_and_an_eighth_of_the_limit_stays)
{
	struct room_bound bound = bound_by(ROOM_CGROUP, 0);

	ck_assert_uint_eq(bound.limit_bytes, 64 * MEGABYTE);
	ck_assert_uint_eq(bound.left_bytes, 60 * MEGABYTE);
	ck_assert_uint_eq(bound.spare_bytes, 52 * MEGABYTE);
	ck_assert_uint_eq(bound.share_bytes, 60 * MEGABYTE / 8);
	/* The arena's own memory is not taken for the program's. */
	put("memory.current", "8388608\n");
	ck_assert_uint_eq(bound_by(ROOM_CGROUP, 4 * MEGABYTE).share_bytes, 60 * MEGABYTE / 8);
	/* The program needs it: the arena has no more than it has. */
	put("memory.current", "65011712\n");
	bound = bound_by(ROOM_CGROUP, 4 * MEGABYTE);
	ck_assert_uint_eq(bound.spare_bytes, 0);
	ck_assert_uint_le(bound.share_bytes, 4 * MEGABYTE);
}
END_TEST

START_TEST(the_machine_and_the_file_system_bound_it)
{
	struct room_bound machine = bound_by(ROOM_MACHINE, 0);
	struct room_bound files = bound_by(ROOM_FILES, 0);

	ck_assert_uint_gt(machine.limit_bytes, machine.left_bytes);
	ck_assert_uint_le(machine.share_bytes, machine.left_bytes / 8);
	ck_assert_uint_le(files.share_bytes, files.left_bytes / 4);
}
END_TEST

START_TEST(addresses_are_bounded_only_by_a_limit)
{
	struct rlimit limit = { 1024L * MEGABYTE, 1024L * MEGABYTE };
	struct room_bound bound = room_for_addresses(&cgroups.lines, false);

	ck_assert_int_eq(bound.rule, ROOM_FREE);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	bound = room_for_addresses(&cgroups.lines, false);
	ck_assert_int_eq(bound.rule, ROOM_ADDRESSES);
	ck_assert_uint_eq(bound.limit_bytes, 1024UL * MEGABYTE);
	ck_assert_uint_lt(bound.left_bytes, 1024UL * MEGABYTE);
	ck_assert_uint_gt(bound.left_bytes, 512UL * MEGABYTE);
	ck_assert_uint_eq(bound.share_bytes, bound.left_bytes / 16);
}
END_TEST

/* A shared mapping is no data. */
START_TEST(data_is_bounded_only_if_it_is_private)
{
	struct rlimit limit = { 512L * MEGABYTE, 512L * MEGABYTE };

	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
	ck_assert_int_eq(room_for_addresses(&cgroups.lines, false).rule, ROOM_FREE);
	ck_assert_int_eq(room_for_addresses(&cgroups.lines, true).rule, ROOM_ADDRESSES);
}
END_TEST

START_TEST(what_is_granted_can_be_taken_once)
{
	uint64_t taken = 0;

	ck_assert(room_begin());
	/* It looks again when it has taken what it was granted, and finds as much: nothing was
	 * really taken. While the control thread ticks, only that looks. */
	room_tend(0);
	while (taken < UINT64_C(2) << 30 && room_take(MEGABYTE, 0))
		taken += MEGABYTE;
	ck_assert_uint_ge(taken, MEGABYTE);
	ck_assert_uint_le(taken, UINT64_C(1) << 30);
	room_tend(0);
	ck_assert(room_take(MEGABYTE, 0));
}
END_TEST

START_TEST(a_child_has_been_granted_nothing)
{
	ck_assert(room_begin());
	room_tend(0);
	ck_assert(room_take(4096, 0));
	room_forget();
	/* It has no control thread, and looks. */
	ck_assert(room_take(4096, 0));
	ck_assert_int_eq(room_refuses(true), ROOM_FREE);
}
END_TEST

/* On stack after stack until there is none. */
static void take_on_the_last(void *is_taken)
{
	if (!spare_call(take_on_the_last, is_taken))
		*(bool *)is_taken = room_take(4096, 0);
}

/* The caller may be on a stack of any size, and a look takes more than a kilobyte. */
START_TEST(nobody_looks_on_the_callers_stack)
{
	bool is_taken = true;

	ck_assert(room_begin());
	room_forget();
	take_on_the_last(&is_taken);
	ck_assert(!is_taken);
	ck_assert(room_take(4096, 0));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(an_eighth_of_what_is_left_and_an_eighth_of_the_limit_stays);
	TEST(the_machine_and_the_file_system_bound_it);
	if (!SANITIZED)
		TEST(addresses_are_bounded_only_by_a_limit);
	if (!SANITIZED)
		TEST(data_is_bounded_only_if_it_is_private);
	TEST(what_is_granted_can_be_taken_once);
	TEST(a_child_has_been_granted_nothing);
	TEST(nobody_looks_on_the_callers_stack);
}
