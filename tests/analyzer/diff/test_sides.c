/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, dumps of one recording would be taken for several ones, or a missing file for an
 * empty one.
 */
#include "diff/sides.h"

#include "suite.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/test_sides.XXXXXX";
static struct side side;
static char error[SIDES_ERROR_BYTES];

static void run(const char *command)
{
	char text[200];
	snprintf(text, sizeof(text), "cd %s && %s", folder, command);
	ck_assert_int_eq(system(text), 0);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
	run("rm -rf ../$(basename $PWD)");
}

START_TEST(a_file_is_one_recording)
{
	ck_assert_int_eq(side_list(&side, "somewhere/run.jsonl", error), 0);
	ck_assert_uint_eq(side.count, 1);
	ck_assert_uint_eq(side.recordings[0].count, 1);
	ck_assert_str_eq(side.recordings[0].paths[0], "somewhere/run.jsonl");
	side_free(&side);
}
END_TEST

START_TEST(a_directory_has_a_recording_for_each_name)
{
	run("mkdir two; touch b.jsonl a.jsonl .hidden two/server two/client");
	ck_assert_int_eq(side_list(&side, folder, error), 0);
	ck_assert_uint_eq(side.count, 3);
	ck_assert_ptr_nonnull(strstr(side.recordings[0].paths[0], "/a.jsonl"));
	ck_assert_ptr_nonnull(strstr(side.recordings[1].paths[0], "/b.jsonl"));
	ck_assert_uint_eq(side.recordings[2].count, 2);
	ck_assert_ptr_nonnull(strstr(side.recordings[2].paths[0], "/two/client"));
	side_free(&side);
}
END_TEST

START_TEST(directories_without_dumps_are_refused)
{
	ck_assert_int_lt(side_list(&side, folder, error), 0);
	ck_assert_ptr_nonnull(strstr(error, "has no recording"));
	run("mkdir empty; touch a");
	ck_assert_int_lt(side_list(&side, folder, error), 0);
	ck_assert_ptr_nonnull(strstr(error, "/empty: has no dump"));
}
END_TEST

START_TEST(what_is_no_dump_is_named)
{
	struct options options = { 0 };
	struct side_analysis of;
	char path[100];
	run("echo no dump > a");
	snprintf(path, sizeof(path), "%s/a", folder);
	ck_assert_int_eq(side_list(&side, path, error), 0);
	ck_assert_int_lt(side_analyze(&of, &side.recordings[0], &options, false, error), 0);
	ck_assert_ptr_nonnull(strstr(error, path));
	side_free(&side);
	ck_assert_int_eq(side_list(&side, "/nowhere/at/all", error), 0);
	ck_assert_int_lt(side_analyze(&of, &side.recordings[0], &options, false, error), 0);
	ck_assert_ptr_nonnull(strstr(error, "/nowhere/at/all"));
	side_free(&side);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_file_is_one_recording);
	TEST(a_directory_has_a_recording_for_each_name);
	TEST(directories_without_dumps_are_refused);
	TEST(what_is_no_dump_is_named);
}
