/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: "told 20 times". Children ask for a signal at the next message, and get it.
 * Another thread of the process may close what it has open meanwhile.
 *
 * All run on one CPU: a thread that was made just before has not run yet.
 */
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 20, SKIPPED = 77 };

static void stay_on_one_cpu(void)
{
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all) && CPU_COUNT(&one) == 0)
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* How many threads of this process have the descriptor. */
static int count_owners(int descriptor)
{
	DIR *threads = opendir("/proc/self/task");
	const struct dirent *entry;
	char path[128], target[16];
	int count = 0;

	while ((entry = readdir(threads)) != NULL) {
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/fd/%d", entry->d_name,
			 descriptor);
		count += entry->d_name[0] != '.' && readlink(path, target, sizeof(target)) > 0;
	}
	closedir(threads);
	return count;
}

static int is_told(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	char name[32];
	sigset_t set;
	mqd_t queue;

	alarm(20);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	snprintf(name, sizeof(name), "/announced.%d", getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
	if (queue < 0)
		return SKIPPED;
	mq_unlink(name);
	if (mq_notify(queue, &event) != 0)
		return 2;
	while (count_owners(queue) > 1)
		sched_yield();
	mq_send(queue, "x", 1, 0);
	/* It is sent by mq_send() itself. */
	sigpending(&set);
	return sigismember(&set, SIGUSR1) ? 0 : 1;
}

int main(void)
{
	int count = 0, status = 0;

	stay_on_one_cpu();
	while (count < CHILDREN && status == 0) {
		pid_t child = fork();

		if (child == 0)
			_exit(is_told());
		if (waitpid(child, &status, 0) != child)
			return 2;
		count += status == 0;
	}
	printf("told %d times\n", count);
	return WEXITSTATUS(status) == SKIPPED ? SKIPPED : status != 0;
}
