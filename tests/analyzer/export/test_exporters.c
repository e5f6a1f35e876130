/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an export is lost without a word, or something else is written over. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/exporters.h"
#include "sketch.h"
#include "suite.h"

static char folder[] = "/tmp/test_exporters_XXXXXX";
static char path[100];

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/out", folder);
}

static void teardown(void)
{
	unlink(path);
	rmdir(path);
	rmdir(folder);
}

static const struct {
	const char *word;
	const char *output; /* NULL: the path */
	const char *error;
} bad[] = {
	{ "gif", NULL, "--export: \"gif\" is none of speedscope" },
	{ "speedscope", "", "--export speedscope needs a file to write to; give -o PATH" },
	{ "speedscope", "/", "-o /: is a folder, and this format is one file" },
	{ "speedscope", "/dev/null", "-o /dev/null: is one of the dumps; give another name" },
};

START_TEST(what_cannot_be_is_refused_first)
{
	char *const dumps[] = { (char[]){ "/dev/null" } };
	const struct options options = {
		.export = bad[_i].word,
		.output = bad[_i].output ? bad[_i].output : path,
		.paths = dumps,
		.path_count = 1,
	};
	char error[EXPORT_ERROR_BYTES];
	ck_assert_int_eq(exporters_check(&options, error), -EINVAL);
	ck_assert_msg(strncmp(error, bad[_i].error, strlen(bad[_i].error)) == 0, "%s", error);
}
END_TEST

static int export_to(const char *output, char *said, char *error)
{
	struct sketch sketch;
	const struct options options = { .export = "speedscope", .output = output };
	sketch_begin(&sketch);
	sketch_end(&sketch);
	const struct analysis analysis = { .recording = &sketch.rec,
					   .options = &options,
					   .classes = sketch.classes };
	ck_assert_int_eq(exporters_check(&options, error), 0);
	int failed = exporters_write(&analysis, said, error);
	sketch_free(&sketch);
	return failed;
}

START_TEST(pictures_alone_need_answers)
{
	const struct options profile = { .export = "speedscope" }, pictures = { .export = "svg" };
	ck_assert(!exporters_need_answers(&profile));
	ck_assert(exporters_need_answers(&pictures));
}
END_TEST

START_TEST(a_file_is_written_and_said)
{
	char said[EXPORT_SAID_BYTES], error[EXPORT_ERROR_BYTES], expected[200];
	struct stat stat_buffer;
	ck_assert_int_eq(export_to(path, said, error), 0);
	snprintf(expected, sizeof(expected),
		 "%s written, without threads' time, as the dumps have no threads: open it "
		 "in",
		 path);
	ck_assert_msg(strncmp(said, expected, strlen(expected)) == 0, "%s", said);
	ck_assert_int_eq(stat(path, &stat_buffer), 0);
	ck_assert_int_gt(stat_buffer.st_size, 100);
}
END_TEST

START_TEST(a_full_disk_is_an_error_with_the_files_name)
{
	char said[EXPORT_SAID_BYTES], error[EXPORT_ERROR_BYTES];
	ck_assert_int_eq(export_to("/dev/full", said, error), -EIO);
	ck_assert_str_eq(error, "-o /dev/full: cannot be written; is the disk full?");
}
END_TEST

START_TEST(a_folder_that_is_not_there_is_an_error)
{
	char said[EXPORT_SAID_BYTES], error[EXPORT_ERROR_BYTES];
	ck_assert_int_eq(export_to("/nowhere/at/all", said, error), -EIO);
	ck_assert_str_eq(error, "-o /nowhere/at/all: No such file or directory");
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	EACH(what_cannot_be_is_refused_first, bad);
	TEST(pictures_alone_need_answers);
	TEST(a_file_is_written_and_said);
	TEST(a_full_disk_is_an_error_with_the_files_name);
	TEST(a_folder_that_is_not_there_is_an_error);
}
