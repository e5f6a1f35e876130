/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: each process here ends by itself when its last thread does, in a way of its own.
 */
#include "scenario.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static void *say_done(void *first)
{
	pthread_join(*(pthread_t *)first, NULL);
	fputs("the last thread ends", stdout); /* without a newline: exit() writes it out */
	return NULL;
}

/* The first thread ends, then the other one: the process ends with status 0. */
static void detached(void)
{
	static pthread_t first;
	pthread_t thread;
	first = pthread_self();
	pthread_create(&thread, NULL, say_done, &first);
	pthread_detach(thread);
	pthread_exit(NULL);
}

static void alone(void)
{
	fputs("the only thread ends", stdout);
	pthread_exit(NULL);
}

static int read_a_byte(void *unused)
{
	char byte = 1;
	int fd = open("/dev/zero", O_RDONLY);
	(void)unused;
	return read(fd, &byte, 1) == 1 && byte == 0 ? 3 : 4;
}

/* The child of clone() ends by its one thread's end, not by exit_group(). */
static void cloned(void)
{
	static char stack[262144] __attribute__((aligned(16)));
	int status = 0;
	pid_t pid = clone(read_a_byte, stack + sizeof(stack), SIGCHLD, NULL);
	say_errno("waited", waitpid(pid, &status, 0) == pid ? 0 : -1);
	printf("status %d\n", WEXITSTATUS(status));
}

static const struct scenario scenarios[] = {
	{ "detached", detached },
	{ "alone", alone },
	{ "cloned", cloned },
};

SCENARIOS_MAIN
