/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the end of a pipe is not known to be that of a process which never used it. */
#include "pipes.h"

#include <fcntl.h>

#include "recording.h"
#include "suite.h"

enum { FAR_ENOUGH = 30, TOO_FAR = 900 };

static int ends[2];

static void setup(void)
{
	for (int fd = 0; fd < 3; fd++) { /* those of the tests may be pipes */
		close(fd);
		ck_assert_int_eq(open("/dev/null", O_RDWR), fd);
	}
	recording_begin();
	ck_assert_int_eq(pipe(ends), 0);
}

static void teardown(void)
{
	recording_end();
}

static int links(json_t *lines)
{
	size_t index;
	json_t *line;
	int count = 0;

	json_array_foreach(lines, index, line)
	{
		const char *word = json_string_value(json_object_get(line, "lk"));

		count += word && strcmp(word, "leave") == 0 && json_object_get(line, "i");
	}
	return count;
}

static int ended(void)
{
	pipes_end();
	return links(recording_dump(true));
}

START_TEST(only_what_can_be_written_to)
{
	ck_assert_int_eq(ended(), 1);
}
END_TEST

START_TEST(nothing_that_was_closed)
{
	close(ends[1]);
	ck_assert_int_eq(ended(), 0);
}
END_TEST

START_TEST(descriptors_are_small_numbers)
{
	ck_assert_int_eq(dup2(ends[1], ends[1] + FAR_ENOUGH), ends[1] + FAR_ENOUGH);
	ck_assert_int_eq(dup2(ends[1], TOO_FAR), TOO_FAR);
	close(ends[1]);
	ck_assert_int_eq(ended(), 1);
}
END_TEST

START_TEST(nothing_while_recording_is_off)
{
	switch_disable();
	ck_assert_int_eq(ended(), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(only_what_can_be_written_to);
	TEST(nothing_that_was_closed);
	TEST(descriptors_are_small_numbers);
	TEST(nothing_while_recording_is_off);
}
