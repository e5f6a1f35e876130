/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, what processes of a window left is lost, or what others left is taken. */
#include "departed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "left_arena.h"
#include "suite.h"

enum { EARLIER = 5, OWN = 7 };

static struct cmd_options options = { .output = "/dev/null", .quiet = true };

static pid_t process_of(const char *path)
{
	int pid = 0;

	ck_assert_int_eq(sscanf(path, "/dev/shm/wcprof-%*u-%d-", &pid), 1);
	return pid;
}

/* A child of this process left something before the window, and another one in it. `member` 0: it
 * has the number of the first. Returns how many arenas were written, and their events. */
static size_t write_window(bool has_children, pid_t member, uint64_t *events,
			   char earlier[REMAINS_PATH_BYTES])
{
	struct target target;
	const struct target_list found = { &target, 1 };
	struct departed departed;
	size_t written;
	int error;
	struct output *output = output_open("/dev/null", &error);

	clock_start(); /* or an arena would seem to be of the future */
	leave_arena(EARLIER);
	memcpy(earlier, arena_path, REMAINS_PATH_BYTES);
	target = (struct target){ .pid = member ? member : process_of(earlier) };
	departed_begin(&departed, &found, has_children);
	leave_arena(OWN);
	ck_assert_int_eq(departed_write(&departed, &options, output), CMD_DONE);
	written = departed.written;
	*events = output_events(output);
	ck_assert_int_eq(output_close(output), 0);
	departed_free(&departed);
	return written;
}

START_TEST(a_child_that_ended_in_the_window_is_written_and_removed)
{
	char earlier[REMAINS_PATH_BYTES];
	uint64_t events;

	ck_assert_uint_eq(write_window(true, getpid(), &events, earlier), 1);
	ck_assert_uint_eq(events, OWN);
	ck_assert_int_eq(access(arena_path, F_OK), -1);
	ck_assert_int_eq(unlink(earlier), 0);
}
END_TEST

START_TEST(others_are_left_alone)
{
	const struct {
		bool has_children;
		pid_t member;
	} rows[] = { { false, getpid() }, { true, getppid() }, { false, 0 } };
	char earlier[REMAINS_PATH_BYTES];
	uint64_t events;

	ck_assert_uint_eq(write_window(rows[_i].has_children, rows[_i].member, &events, earlier),
			  0);
	ck_assert_int_eq(unlink(earlier), 0);
	ck_assert_int_eq(unlink(arena_path), 0);
}
END_TEST

SUITE()
{
	TEST(a_child_that_ended_in_the_window_is_written_and_removed);
	LOOP(others_are_left_alone, 0, 3);
}
