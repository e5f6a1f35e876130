/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a program gets a signal for what the recorder has written, or loses one of its
 * own.
 */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "held.h"
#include "suite.h"

static int broken_pipe(void)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	close(ends[0]);
	return ends[1];
}

static bool is_pending(int number)
{
	sigset_t pending;

	ck_assert_int_eq(sigpending(&pending), 0);
	return sigismember(&pending, number) == 1;
}

START_TEST(a_broken_pipe_brings_nothing)
{
	struct held_signals held;
	sigset_t mask;
	int fd = broken_pipe();

	held_begin(&held);
	ck_assert_int_eq(write(fd, "x", 1), -1);
	held_end(&held);
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
	ck_assert(!sigismember(&mask, SIGPIPE) && !is_pending(SIGPIPE));
}
END_TEST

START_TEST(the_programs_own_stays_pending)
{
	struct held_signals held;
	sigset_t pipes;
	int fd = broken_pipe();

	sigemptyset(&pipes);
	sigaddset(&pipes, SIGPIPE);
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, &pipes, NULL), 0);
	ck_assert_int_eq(write(fd, "x", 1), -1);
	held_begin(&held);
	ck_assert_int_eq(write(fd, "x", 1), -1);
	held_end(&held);
	ck_assert(is_pending(SIGPIPE));
}
END_TEST

SUITE()
{
	TEST(a_broken_pipe_brings_nothing);
	TEST(the_programs_own_stays_pending);
}
