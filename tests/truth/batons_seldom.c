/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: what carries the baton is known, so that work_a and work_b add up (batons.h).
 *
 * Ways that programs take seldom, or once: ends of streams, files, signals.
 */
#include "batons.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

/* --- ends of streams: a new one each time --- */

enum { BATONS = 64 };

static int pipes[SIDES][BATONS][2], given[SIDES], taken[SIDES];

static void close_make(void)
{
	for (int i = 0; i < SIDES * BATONS; i++)
		die_if(pipe(pipes[i / BATONS][i % BATONS]), "pipe");
}

static void close_give(int side)
{
	close(pipes[!side][given[side]++][1]);
}

static void close_take(int side)
{
	char byte;

	die_if(read(pipes[side][taken[side]++][0], &byte, 1) != 0, "read");
}

static char paths[SIDES][64];

static void fifo_make(void)
{
	for (int i = 0; i < SIDES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/tmp/baton-%d-%d", i, getpid());
		die_if(mkfifo(paths[i], 0600), "mkfifo");
	}
}

static void paths_remove(void)
{
	for (int i = 0; i < SIDES; i++)
		unlink(paths[i]);
}

static void fifo_give(int side)
{
	die_if(close(open(paths[!side], O_WRONLY)), "open");
}

static void fifo_take(int side)
{
	die_if(close(open(paths[side], O_RDONLY)), "open");
}

/* --- files --- */

static void inotify_make(void)
{
	for (int i = 0; i < SIDES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/tmp/baton-%d-%d", i, getpid());
		close(open(paths[i], O_CREAT | O_WRONLY, 0600));
		ends[i] = inotify_init();
		die_if(inotify_add_watch(ends[i], paths[i], IN_MODIFY) < 0, "inotify_add_watch");
	}
}

static void inotify_give(int side)
{
	int fd = open(paths[!side], O_WRONLY | O_APPEND);

	die_if(write(fd, "x", 1) != 1, "write");
	close(fd);
}

static void inotify_take(int side)
{
	char event[sizeof(struct inotify_event) + NAME_MAX + 1];

	die_if(read(ends[side], event, sizeof(event)) < 0, "read");
}

/* --- signals, to this process: each side has one of its own --- */

static void signal_make(void)
{
	sigset_t both;

	sigemptyset(&both);
	for (int i = 0; i < SIDES; i++) {
		sigset_t own;

		sigemptyset(&own);
		sigaddset(&own, SIGRTMIN + i);
		sigaddset(&both, SIGRTMIN + i);
		die_if((ends[i] = signalfd(-1, &own, 0)) < 0, "signalfd");
	}
	pthread_sigmask(SIG_BLOCK, &both, NULL);
}

static void signal_give(int side)
{
	die_if(kill(getpid(), SIGRTMIN + !side), "kill");
}

static void signal_take(int side)
{
	struct signalfd_siginfo signal;

	die_if(read(ends[side], &signal, sizeof(signal)) < 0, "read");
}

/* --- all --- */

static const struct way ways[] = {
	{ "close", close_make, close_give, close_take, NULL },
	{ "fifo", fifo_make, fifo_give, fifo_take, paths_remove },
	{ "signalfd", signal_make, signal_give, signal_take, NULL },
	{ "inotify", inotify_make, inotify_give, inotify_take, paths_remove },
};

int main(int argc, char **argv)
{
	return batons_main(argc, argv, ways, sizeof(ways) / sizeof(ways[0]));
}
