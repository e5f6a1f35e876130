/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, two processes would not agree on which file it is that they lock. */
#include "filelocks.h"

#include "recording.h"
#include "strings.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

START_TEST(a_lock_is_named_after_its_file_and_bytes)
{
	char path[] = "/tmp/wcprof-test-XXXXXX", text[200];
	struct stat status;
	uint32_t bytes;
	int fd = mkstemp(path), copy = dup(fd);

	recording_begin();
	ck_assert_int_eq(fstat(fd, &status), 0);
	snprintf(text, sizeof(text), "flock read %llu+7 of %llu:%llu", 1ull << 63,
		 (unsigned long long)status.st_dev, (unsigned long long)status.st_ino);
	uint32_t id = file_lock_name(fd, "flock read", UINT64_C(1) << 63, 7);
	ck_assert_str_eq(strings_get(recorder_arena, id, &bytes), text);
	ck_assert_uint_eq(file_lock_name(copy, "flock read", UINT64_C(1) << 63, 7), id);
	ck_assert_uint_eq(file_lock_name(-1, "flock read", 0, 0), 0);
	recording_end();
	close(fd);
	close(copy);
	unlink(path);
}
END_TEST

SUITE()
{
	TEST(a_lock_is_named_after_its_file_and_bytes);
}
