/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a part of an export is lost without a word. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "export/outputs.h"
#include "suite.h"

static char folder[] = "/tmp/test_outputs_XXXXXX";

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
	char path[100];
	snprintf(path, sizeof(path), "%s/out", folder);
	unlink(path);
	rmdir(folder);
}

/* Exporters of folders get one file after the other. */
START_TEST(files_of_a_folder_are_checked_each)
{
	char error[EXPORT_ERROR_BYTES] = "";
	struct export export = { .path = folder, .error = error };
	FILE *file = export_file_in(&export, "out");
	ck_assert_ptr_nonnull(file);
	fputs("first", file);
	ck_assert_ptr_null(export_file_in(&export, "no/such"));
	ck_assert_ptr_nonnull(strstr(error, "/no/such: No such file or directory"));
	ck_assert_ptr_null(export_file_in(&export, "out"));
	export_note(&export, "%d left out", 3);
	ck_assert_str_eq(export.note, "3 left out");
}
END_TEST

/* In the middle of it, and at its end: the file keeps that it failed. */
START_TEST(a_full_disk_is_told)
{
	char error[EXPORT_ERROR_BYTES] = "";
	struct export export = { .path = "/dev/full", .error = error };
	FILE *file = export_open(&export, "/dev/full");
	for (int i = 0; i < 100000 * _i + 1; i++)
		fputs("text", file);
	export_close(&export);
	ck_assert_str_eq(error, "-o /dev/full: cannot be written; is the disk full?");
	ck_assert_ptr_null(export_file(&export));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(files_of_a_folder_are_checked_each);
	LOOP(a_full_disk_is_told, 0, 2);
}
