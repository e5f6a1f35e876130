/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: a program at its limit of tasks makes as many as without the library.
 */
#include "scenario.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>

enum { STATUS = 7, STACK_BYTES = 65536 };

/* Only root can become a user with no other process; for anybody else there is no limit here. */
static void allow_one_more(void)
{
	uid_t user = 100000 + (uid_t)getpid();
	struct rlimit limit = { 2, 2 };

	if (getuid() == 0 && setgid(user) == 0 && setuid(user) == 0)
		setrlimit(RLIMIT_NPROC, &limit);
}

static void say_status(const char *what, pid_t pid)
{
	int status = 0;

	if (pid <= 0 || waitpid(pid, &status, 0) != pid)
		printf("%s: none, %s\n", what, strerror(errno));
	else
		printf("%s: ended with %x\n", what, status);
}

static pid_t thread_number;

static void *run_pthread(void *unused)
{
	thread_number = (pid_t)syscall(SYS_gettid);
	return unused;
}

/* A joined thread may count as a task for some moments: the kernel wakes the joiner first. */
static void wait_for_its_end(void)
{
	while (syscall(SYS_tgkill, getpid(), thread_number, 0) == 0)
		sched_yield();
}

static void by_pthread(void)
{
	pthread_t first, second;

	allow_one_more();
	say("first", pthread_create(&first, NULL, run_pthread, NULL));
	pthread_join(first, NULL);
	wait_for_its_end();
	say("second", pthread_create(&second, NULL, run_pthread, NULL));
	pthread_join(second, NULL);
}

static int run_c11(void *unused)
{
	(void)unused;
	return STATUS;
}

static void by_c11(void)
{
	thrd_t thread;
	int result = 0;

	allow_one_more();
	if (thrd_create(&thread, run_c11, NULL) == thrd_success)
		thrd_join(thread, &result);
	printf("result: %d\n", result);
}

static void by_fork(void)
{
	pid_t pid;

	allow_one_more();
	pid = fork();
	if (pid == 0)
		_exit(STATUS);
	say_status("fork", pid);
}

static void by_vfork(void)
{
	pid_t pid;

	allow_one_more();
	pid = vfork();
	if (pid == 0)
		_exit(STATUS);
	say_status("vfork", pid);
}

static void by_clone(void)
{
	static char stack[STACK_BYTES];

	allow_one_more();
	say_status("clone", clone(run_c11, stack + STACK_BYTES, SIGCHLD, NULL));
}

static void by_spawn(void)
{
	static char name[] = "true";
	static char *const words[] = { name, NULL };
	pid_t pid = -1;

	allow_one_more();
	say("spawn", posix_spawnp(&pid, "true", NULL, NULL, words, environ));
	say_status("spawned", pid);
}

/* Shells with nothing to start. */
static void by_popen(void)
{
	FILE *stream;

	allow_one_more();
	stream = popen(":", "r");
	printf("popen: %x\n", stream ? pclose(stream) : -1);
}

static void by_system(void)
{
	allow_one_more();
	errno = 0;
	printf("system: %x\n", system("exit 7"));
	printf("errno: %d\n", errno);
	printf("not found: %x\n", system("exit 127"));
}

/* And one more than there may be fails as before. */
static void too_many(void)
{
	pid_t first, second;
	int ends[2];
	char byte;

	allow_one_more();
	if (pipe(ends) != 0)
		return;
	first = fork();
	if (first == 0) {
		close(ends[1]);
		(void)!read(ends[0], &byte, 1);
		_exit(STATUS);
	}
	second = fork();
	if (second == 0)
		_exit(STATUS);
	printf("second: %s\n", second < 0 ? "none" : "one");
	close(ends[1]);
	say_status("first", first);
	if (second > 0)
		waitpid(second, NULL, 0);
}

static const struct scenario scenarios[] = {
	{ "pthread", by_pthread }, { "c11", by_c11 },       { "fork", by_fork },
	{ "vfork", by_vfork },     { "clone", by_clone },   { "spawn", by_spawn },
	{ "popen", by_popen },     { "system", by_system }, { "too many", too_many },
};

SCENARIOS_MAIN
