/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, --symbolize would write through a link that somebody else put in its way.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile.h"
#include "suite.h"

static char shared[] = "/tmp/wcprof-test-s-XXXXXX", own[] = "/tmp/wcprof-test-o-XXXXXX";

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(shared));
	ck_assert_ptr_nonnull(mkdtemp(own));
	ck_assert_int_eq(chmod(shared, 01777), 0);
}

static void teardown(void)
{
	char command[256];
	snprintf(command, sizeof(command), "rm -rf %s %s", shared, own);
	ck_assert_int_eq(system(command), 0);
}

/* The size of what was written, or -errno. */
static int put(const char *directory, const char *name)
{
	char path[256];
	struct stat stat_now;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = outfile_create(path);
	if (!file)
		return -errno;
	fputs("data", file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(stat(path, &stat_now), 0);
	return (int)stat_now.st_size;
}

START_TEST(own_files_are_made_and_emptied)
{
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(put(own, "new"), 4);
		ck_assert_int_eq(put(shared, "new"), 4);
	}
	ck_assert_int_eq(put(own, "none/new"), -ENOENT);
	ck_assert_ptr_nonnull(outfile_create("/dev/null"));
}
END_TEST

START_TEST(links_are_followed_in_own_directories_only)
{
	char path[256], link[256];
	snprintf(path, sizeof(path), "%s/new", own);
	ck_assert_int_eq(put(own, "new"), 4);
	snprintf(link, sizeof(link), "%s/link", own);
	ck_assert_int_eq(symlink(path, link), 0);
	ck_assert_int_eq(put(own, "link"), 4);
	snprintf(link, sizeof(link), "%s/link", shared);
	ck_assert_int_eq(symlink(path, link), 0);
	ck_assert_int_eq(put(shared, "link"), -EPERM);
	snprintf(link, sizeof(link), "%s/name", shared);
	ck_assert_int_eq(rename(path, link), 0);
	snprintf(path, sizeof(path), "%s/second", shared);
	ck_assert_int_eq(symlink("x", path), 0);
	ck_assert_int_eq(put(shared, "second"), -EPERM);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(own_files_are_made_and_emptied);
	TEST(links_are_followed_in_own_directories_only);
}
