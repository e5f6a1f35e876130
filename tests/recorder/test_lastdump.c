/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a program dies or stalls at its end because its dump cannot be written, or half a
 * dump is taken for one. */
#include "lastdump.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "recording.h"
#include "suite.h"

enum { EVENTS = 20000, SMALL_BYTES = 100000 };

static char path[64];

static void setup(void)
{
	snprintf(path, sizeof(path), "/tmp/wcprof-test-%d", getpid());
	setenv("WCPROF_OUTPUT", path, 1);
	recording_begin();
	for (int i = 0; i < EVENTS; i++)
		record_io(1);
	/* Its complaints are not for the one who runs the tests. */
	ck_assert_int_ge(dup2(open("/dev/null", O_WRONLY), STDERR_FILENO), 0);
}

static void teardown(void)
{
	arena_unlink(recorder_arena);
	unlink(path);
}

static off_t size_of_output(void)
{
	struct stat stat;

	ck_assert_int_eq(lstat(path, &stat), 0);
	return stat.st_size;
}

START_TEST(all_of_it_is_written)
{
	ck_assert(lastdump_write(recorder_arena));
	ck_assert_int_gt(size_of_output(), SMALL_BYTES);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
}
END_TEST

static void check_signals(void)
{
	sigset_t blocked, pending;

	ck_assert_int_eq(sigprocmask(SIG_BLOCK, NULL, &blocked), 0);
	ck_assert_int_eq(sigpending(&pending), 0);
	for (int signal = 1; signal < 32; signal++)
		ck_assert(!sigismember(&blocked, signal) && !sigismember(&pending, signal));
}

/* Whatever it had before, it has still. */
START_TEST(a_file_that_may_not_grow)
{
	struct rlimit limit = { SMALL_BYTES, RLIM_INFINITY };
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	ck_assert_int_eq((int)write(fd, "before\n", 7), 7);
	close(fd);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert(!lastdump_write(recorder_arena));
	check_signals();
	ck_assert_int_eq(size_of_output(), 7);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), EVENTS);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert(lastdump_write(recorder_arena));
}
END_TEST

static uint32_t caught;

static void catch (int signal)
{
	caught += signal == SIGXFSZ;
}

/* A signal of its own that the program holds back is there still. */
START_TEST(the_programs_own_signals_stay)
{
	struct rlimit limit = { SMALL_BYTES, RLIM_INFINITY };
	sigset_t set;

	signal(SIGXFSZ, catch);
	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGXFSZ);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert(!lastdump_write(recorder_arena));
	ck_assert_uint_eq(caught, 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	ck_assert_uint_eq(caught, 1);
}
END_TEST

START_TEST(a_pipe_that_nobody_reads)
{
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert(!lastdump_write(recorder_arena));
	ck_assert_uint_eq(snapshot_pending(recorder_arena), EVENTS);
}
END_TEST

/* Until there is a writer it is at the end of the file. */
static void *read_some(void *fd)
{
	struct pollfd poll_fd = { .fd = *(int *)fd, .events = POLLIN };

	while (poll(&poll_fd, 1, -1) == 1 && !(poll_fd.revents & POLLIN))
		continue;
	close(*(int *)fd);
	return NULL;
}

START_TEST(a_pipe_whose_reader_goes_away)
{
	pthread_t thread;
	int fd;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	pthread_create(&thread, NULL, read_some, &fd);
	ck_assert(!lastdump_write(recorder_arena));
	pthread_join(thread, NULL);
	check_signals();
	ck_assert_uint_eq(snapshot_pending(recorder_arena), EVENTS);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(all_of_it_is_written);
	TEST(a_file_that_may_not_grow);
	TEST(the_programs_own_signals_stay);
	TEST(a_pipe_that_nobody_reads);
	TEST(a_pipe_whose_reader_goes_away);
}
