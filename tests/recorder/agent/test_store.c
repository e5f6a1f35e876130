/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, dumps fill the disk, or what is not a dump of the agent's is removed. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

static char directory[] = "/tmp/wcprof-store.XXXXXX";
static char path[STORE_PATH_BYTES];
static struct store store;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(store_open(&store, directory, 1000), 0);
}

static void teardown(void)
{
	char command[sizeof(directory) + 16];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static void write_file(const char *name, size_t bytes)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
}

static void keep(size_t bytes)
{
	store_begin(&store, "a b/../c", 7, path);
	write_file(path, bytes);
	ck_assert_int_eq(store_keep(&store, path), 0);
	ck_assert_int_eq(access(path, F_OK), 0);
}

static bool has(const char *name)
{
	char full[STORE_PATH_BYTES];

	snprintf(full, sizeof(full), "%s/%s", directory, name);
	return access(full, F_OK) == 0;
}

START_TEST(names_are_plain_and_in_order)
{
	keep(1);
	ck_assert_str_eq(strrchr(path, '/'), "/000000000001-a_b____c-7.wcprof.zst");
	keep(1);
	ck_assert(has("000000000002-a_b____c-7.wcprof.zst"));
}
END_TEST

START_TEST(the_oldest_make_room)
{
	for (int i = 0; i < 5; i++)
		keep(300);
	ck_assert_uint_eq(store.bytes, 900);
	ck_assert_uint_eq(store.removed, 2);
	ck_assert(!has("000000000002-a_b____c-7.wcprof.zst"));
	ck_assert(has("000000000003-a_b____c-7.wcprof.zst"));
	/* One that is larger than all the room is kept alone. */
	keep(5000);
	ck_assert_uint_eq(store.bytes, 5000);
	keep(1);
	ck_assert_uint_eq(store.bytes, 1);
}
END_TEST

START_TEST(what_is_no_dump_is_left_alone)
{
	char other[STORE_PATH_BYTES];

	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "notes.txt", "000000000001-x.wcprof",
						     "1-x-1.wcprof.zst" };

		snprintf(other, sizeof(other), "%s/%s", directory, names[i]);
		write_file(other, 1);
	}
	keep(900);
	keep(900);
	store_shrink(&store, 0);
	ck_assert(has("notes.txt") && has("000000000001-x.wcprof") && has("1-x-1.wcprof.zst"));
	ck_assert_uint_eq(store.bytes, 0);
}
END_TEST

START_TEST(opened_again_it_goes_on)
{
	char partial[STORE_PATH_BYTES];

	keep(300);
	keep(300);
	store_begin(&store, "x", 8, partial);
	write_file(partial, 10);
	ck_assert_int_eq(store_open(&store, directory, 400), 0);
	ck_assert_uint_eq(store.bytes, 300);
	ck_assert_int_ne(access(partial, F_OK), 0);
	keep(1);
	ck_assert(has("000000000003-a_b____c-7.wcprof.zst"));
}
END_TEST

START_TEST(a_place_that_others_may_write_to_is_none)
{
	ck_assert_int_eq(chmod(directory, 0777), 0);
	ck_assert_int_eq(store_open(&store, directory, 1000), -EPERM);
	ck_assert_int_eq(store_open(&store, "/dev/null", 1000), -ENOTDIR);
	ck_assert_int_eq(store_open(&store, "/nowhere/at/all", 1000), -ENOENT);
}
END_TEST

START_TEST(one_that_vanished_is_an_error)
{
	store_begin(&store, "x", 8, path);
	ck_assert_int_eq(store_keep(&store, path), -ENOENT);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(names_are_plain_and_in_order);
	TEST(the_oldest_make_room);
	TEST(what_is_no_dump_is_left_alone);
	TEST(opened_again_it_goes_on);
	TEST(a_place_that_others_may_write_to_is_none);
	TEST(one_that_vanished_is_an_error);
}
