/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, a dump goes into a file, a link or a pipe that somebody else put in its way. */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

enum { NOBODY = 65534 };

static char shared[] = "/tmp/wcprof-test-s-XXXXXX", own[] = "/tmp/wcprof-test-o-XXXXXX";
static char path[128], victim[128];

static void setup(void)
{
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(shared));
	ck_assert_ptr_nonnull(mkdtemp(own));
	ck_assert_int_eq(chmod(shared, 01777), 0);
	snprintf(victim, sizeof(victim), "%s/victim", own);
	fd = open(victim, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq((int)write(fd, "data", 4), 4);
	close(fd);
}

static void teardown(void)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf %s %s", shared, own);
	ck_assert_int_eq(system(command), 0);
}

static off_t size_of(const char *name)
{
	struct stat stat;

	return lstat(name, &stat) == 0 ? stat.st_size : -1;
}

/* Writes a word; -errno, or 0. */
static int put(const char *directory, const char *name, int flags)
{
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = outfile_open(path, flags);
	if (fd < 0)
		return fd;
	ck_assert_int_eq((int)write(fd, "more", 4), 4);
	close(fd);
	return 0;
}

/* Row 0: in a directory of one's own; row 1: in one of everybody's. */
START_TEST(own_files_are_made_appended_to_and_emptied)
{
	const char *directory = _i ? shared : own;
	struct stat stat;

	ck_assert_int_eq(put(directory, "new", O_APPEND), 0);
	ck_assert_int_eq(lstat(path, &stat), 0);
	ck_assert_uint_eq(stat.st_mode & 0777, 0600);
	ck_assert_int_eq(put(directory, "new", O_APPEND), 0);
	ck_assert_int_eq(size_of(path), 8);
	ck_assert_int_eq(put(directory, "new", O_TRUNC), 0);
	ck_assert_int_eq(size_of(path), 4);
	ck_assert_int_eq(put(directory, "", 0), -EISDIR);
	ck_assert_int_eq(put(directory, "none/new", 0), -ENOENT);
}
END_TEST

START_TEST(own_links_are_followed_in_own_directories)
{
	char link[160];

	snprintf(link, sizeof(link), "%s/link", own);
	ck_assert_int_eq(symlink(victim, link), 0);
	ck_assert_int_eq(put(own, "link", O_APPEND), 0);
	ck_assert_int_eq(size_of(victim), 8);
	snprintf(link, sizeof(link), "%s/ahead", own);
	ck_assert_int_eq(symlink("made", link), 0);
	ck_assert_int_eq(put(own, "ahead", 0), 0);
	snprintf(link, sizeof(link), "%s/made", own);
	ck_assert_int_eq(size_of(link), 4);
}
END_TEST

START_TEST(nothing_planted_is_written_to)
{
	char planted[160], ahead[160];

	snprintf(planted, sizeof(planted), "%s/x", shared);
	snprintf(ahead, sizeof(ahead), "%s/ahead", own);
	/* Rows: a link; one to no file; a second name; another user's file; a pipe. */
	if (_i == 0)
		ck_assert_int_eq(symlink(victim, planted), 0);
	else if (_i == 1)
		ck_assert_int_eq(symlink(ahead, planted), 0);
	else if (_i == 2)
		ck_assert_int_eq(link(victim, planted), 0);
	else if (_i == 3)
		close(open(planted, O_WRONLY | O_CREAT, 0666));
	else
		ck_assert_int_eq(mkfifo(planted, 0666), 0);
	if (_i >= 3 && chown(planted, NOBODY, NOBODY) != 0)
		return; /* NOT TESTED: another user's takes root */
	for (int append = 0; append < 2; append++)
		ck_assert_int_eq(put(shared, "x", append ? O_APPEND : O_TRUNC), -EPERM);
	ck_assert_int_eq(size_of(victim), 4);
	ck_assert_int_eq(size_of(ahead), -1);
	ck_assert_int_le(size_of(planted) * (_i == 3), 0);
}
END_TEST

/* Row 0: another user's; row 1: a group's. */
START_TEST(directories_of_others_are_shared)
{
	char link[160];

	snprintf(link, sizeof(link), "%s/link", own);
	ck_assert_int_eq(symlink("/dev/null", link), 0);
	ck_assert_int_eq(put(own, "link", 0), 0);
	if (_i == 0 && chown(own, NOBODY, NOBODY) != 0)
		return; /* NOT TESTED: that takes root */
	if (_i == 1)
		ck_assert_int_eq(chmod(own, 0770), 0);
	ck_assert_int_eq(put(own, "link", 0), -EPERM);
	ck_assert_int_eq(put(own, "new", 0), 0);
}
END_TEST

START_TEST(names_of_all_kinds)
{
	char here[] = "new", device[] = "/dev/null", stdout_path[] = "/dev/stdout", none[] = "";
	int fd;

	ck_assert_int_eq(chdir(own), 0);
	fd = outfile_open(here, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(access("new", F_OK), 0);
	ck_assert_int_ge(outfile_open(device, O_APPEND | O_NONBLOCK), 0);
	ck_assert_int_ge(dup2(fd, 1), 0);
	ck_assert_int_ge(outfile_open(stdout_path, O_APPEND), 0);
	ck_assert_int_lt(outfile_open(none, 0), 0);
}
END_TEST

START_TEST(one_descriptor_is_enough)
{
	struct rlimit limit;
	int highest = dup(0);

	close(highest);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)highest + 1;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_ge(dup(0), 0);
	ck_assert_int_eq(put(_i ? shared : own, "new", O_APPEND), -EMFILE);
	close(highest);
	ck_assert_int_eq(put(_i ? shared : own, "new", O_APPEND), 0);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	LOOP(own_files_are_made_appended_to_and_emptied, 0, 2);
	TEST(own_links_are_followed_in_own_directories);
	LOOP(nothing_planted_is_written_to, 0, 5);
	LOOP(directories_of_others_are_shared, 0, 2);
	TEST(names_of_all_kinds);
	LOOP(one_descriptor_is_enough, 0, 2);
}
