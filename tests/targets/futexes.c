/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: two waits on `word`, one woken and one timed out; nothing else goes through
 * syscall() with a trace.
 */
#include "scenario.h"

#include <poll.h>
#include <sys/uio.h>

#include <linux/futex.h>
#include <sys/wait.h>

static volatile int word;

static void wait_on_word(void)
{
	while (word == 0)
		say_errno("wait", syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL));
}

static void woken(void)
{
	struct helper helper;
	struct timespec limit = { .tv_nsec = 20000000 };
	helper_start(&helper, wait_on_word);
	until_in_call(helper.tid, SYS_futex);
	word = 1;
	say_errno("wake", syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1));
	helper_join(&helper);
	say_errno("wait, changed", syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL));
	say_errno("wait, timed", syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &limit));
	say_errno("wake nobody", syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1));
}

/* Calls with none to six arguments, one that fails, and the ones that return twice. */
static void others(void)
{
	int status = 0;
	char byte = 'x';
	int ends[2];
	printf("getpid: %d\n", syscall(SYS_getpid) == getpid());
	say_errno("close", syscall(SYS_close, -1));
	say_errno("pipe2", syscall(SYS_pipe2, ends, 0));
	say_errno("write", syscall(SYS_write, ends[1], &byte, (size_t)1));
	say_errno("splice", syscall(SYS_splice, ends[0], NULL, ends[1], NULL, (size_t)1, 0));
	fflush(stdout);
	for (int i = 0; i < 100; i++) {
		long pid = syscall(SYS_fork);
		if (pid == 0)
			syscall(SYS_exit_group, 3);
		waitpid((pid_t)pid, &status, 0);
	}
	printf("fork: %d\n", WEXITSTATUS(status));
	for (int i = 0; i < 100; i++) {
		long pid = syscall(SYS_vfork);
		if (pid == 0)
			syscall(SYS_exit_group, 4);
		waitpid((pid_t)pid, &status, 0);
	}
	printf("vfork: %d\n", WEXITSTATUS(status));
}

/* The same calls as libc makes, without libc's functions. */
static void raw(void)
{
	char bytes[4] = "four";
	struct timespec none = { 0 };
	int ends[2];
	(void)!pipe(ends);
	struct pollfd set = { .fd = ends[0], .events = POLLIN };
	struct iovec part = { bytes, 4 };
	say_errno("write", syscall(SYS_write, ends[1], bytes, (size_t)4));
	say_errno("ppoll", syscall(SYS_ppoll, &set, 1L, &none, NULL, 8L));
	say_errno("read", syscall(SYS_read, ends[0], bytes, (size_t)4));
	say_errno("writev", syscall(SYS_writev, ends[1], &part, 1L));
	say_errno("preadv2, pipe", syscall(SYS_preadv2, ends[0], &part, 1L, -1L, 0L, 0L));
	say_errno("io_uring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, (size_t)0));
	say_errno("futex_waitv", syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0));
	say_errno("sendto", syscall(SYS_sendto, ends[1], bytes, (size_t)4, 0, NULL, 0));
}

static const struct scenario scenarios[] = { { "woken", woken },
					     { "others", others },
					     { "raw", raw } };

SCENARIOS_MAIN
