/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a line of /proc is lost, or read twice. */
#include "lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

static char path[] = "/tmp/wcprof-lines.XXXXXX";
static struct lines lines;

static void write_file(const char *from, size_t bytes)
{
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, from, bytes), (ssize_t)bytes);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
}

START_TEST(each_line_comes_once)
{
	char text[20 * LINE_BYTES], expected[64];
	size_t used = 0;
	int count = 0;
	char *line;

	while (used < sizeof(text) - 64)
		used += (size_t)sprintf(text + used, "line %d\n", count++);
	write_file(text, used);
	ck_assert(lines_open(&lines, path));
	for (int i = 0; i < count; i++) {
		line = lines_next(&lines);
		sprintf(expected, "line %d", i);
		ck_assert_ptr_nonnull(line);
		ck_assert_str_eq(line, expected);
	}
	ck_assert_ptr_null(lines_next(&lines));
	lines_close(&lines);
}
END_TEST

START_TEST(a_line_longer_than_the_buffer_loses_its_beginning)
{
	char text[2 * LINE_BYTES + 8];
	char *line;

	memset(text, 'a', sizeof(text));
	text[2 * LINE_BYTES] = '\n';
	memcpy(text + 2 * LINE_BYTES + 1, "second\n", 7);
	write_file(text, sizeof(text));
	ck_assert(lines_open(&lines, path));
	line = lines_next(&lines);
	ck_assert_ptr_nonnull(line);
	ck_assert_uint_lt(strlen(line), LINE_BYTES);
	ck_assert_str_eq(lines_next(&lines), "second");
	ck_assert_ptr_null(lines_next(&lines));
	lines_close(&lines);
}
END_TEST

START_TEST(what_is_not_there_is_not_opened)
{
	ck_assert(!lines_open(&lines, "/nonexistent/file"));
	write_file("", 0);
	ck_assert(lines_open(&lines, path));
	ck_assert_ptr_null(lines_next(&lines));
	lines_close(&lines);
}
END_TEST

SUITE()
{
	FIXTURE(NULL, teardown);
	TEST(each_line_comes_once);
	TEST(a_line_longer_than_the_buffer_loses_its_beginning);
	TEST(what_is_not_there_is_not_opened);
}
