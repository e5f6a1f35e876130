/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: every child is an op of its parent's, from its start until somebody waits for
 * it.
 */
#include "scenario.h"

#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

extern int old_spawn(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, char *const[], char *const[]);
__asm__(".symver old_spawn, posix_spawn@GLIBC_2.2.5");

static pid_t start(int status)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		_exit(status);
	return pid;
}

static void say_status(const char *what, pid_t wanted, pid_t found, int status)
{
	printf("%s: %d %x\n", what, found == wanted, status);
}

/* Each way to wait, also without a place for the status. */
static void waits(void)
{
	siginfo_t info = { 0 };
	struct rusage usage;
	int status = 0;
	pid_t pid;
	pid = start(0), say_status("wait", pid, wait(&status), status);
	pid = start(1), say_status("waitpid", pid, waitpid(pid, &status, 0), status);
	pid = start(2), say_status("wait3", pid, wait3(&status, 0, &usage), status);
	pid = start(3), say_status("wait4", pid, wait4(pid, &status, 0, &usage), status);
	pid = start(4), say_status("waitpid without status", pid, waitpid(pid, NULL, 0), 0);
	pid = start(5), waitid(P_PID, (id_t)pid, &info, WEXITED);
	say_status("waitid", pid, info.si_pid, info.si_status);
	pid = start(6), say_errno("waitid without info", waitid(P_PID, (id_t)pid, NULL, WEXITED));
	pid = start(7), waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	say_status("looked", pid, info.si_pid, info.si_status);
	say_status("and waited", pid, waitpid(pid, &status, 0), status);
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	say_errno("not yet", waitpid(pid, &status, WNOHANG));
	kill(pid, SIGKILL);
	say_status("killed", pid, waitpid(pid, &status, 0), status);
	say_errno("no child", wait(&status));
	say_errno("no child", waitpid(1, NULL, 0));
}

/* A child that works: its recording is its own. */
static void works(void)
{
	int status;
	char byte = 'x';
	int ends[2];
	(void)!pipe(ends);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 10; i++)
			(void)!write(ends[1], &byte, 1);
		exit(0);
	}
	waitpid(pid, &status, 0);
	say_errno("read", read(ends[0], (char[16]){ 0 }, 16));
}

static volatile int stop;

static void *spin(void *mutex)
{
	while (!stop) {
		pthread_mutex_lock(mutex);
		for (volatile int work = 0; work < 20000; work++)
			;
		pthread_mutex_unlock(mutex);
	}
	return NULL;
}

/* Forks while fifty threads fight for a lock; each child takes a lock of its own and writes. */
static void among_threads(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	pthread_t threads[50];
	int bad = 0;
	for (int i = 0; i < 50; i++)
		pthread_create(&threads[i], NULL, spin, &lock);
	for (int i = 0; i < 30; i++) {
		int status = -1;
		pid_t pid = fork();
		if (pid == 0) {
			pthread_mutex_lock(&own);
			pthread_mutex_unlock(&own);
			close(0);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid || status != 0)
			bad++;
	}
	stop = 1;
	for (int i = 0; i < 50; i++)
		pthread_join(threads[i], NULL);
	printf("bad children: %d\n", bad);
}

static void *allocate(void *unused)
{
	unsigned size = 1;
	while (!stop) {
		size = size * 69069 + 1;
		char *block = malloc(size % 100000 + 1);
		*(volatile char *)block = 'x';
		free(block);
		if (size % 64 == 0)
			sched_yield();
	}
	return unused;
}

/* Forks while fifty threads allocate; each child allocates, writes and sleeps. */
static void allocating(void)
{
	pthread_t threads[50];
	int bad = 0;
	for (int i = 0; i < 50; i++)
		pthread_create(&threads[i], NULL, allocate, NULL);
	for (int i = 0; i < 10; i++) {
		int status = -1;
		pid_t pid = fork();
		if (pid == 0) {
			char *volatile block = malloc(100000);
			free(block);
			close(-1);
			usleep(1);
			_exit(block ? 0 : 1);
		}
		if (waitpid(pid, &status, 0) != pid || status != 0)
			bad++;
	}
	stop = 1;
	for (int i = 0; i < 50; i++)
		pthread_join(threads[i], NULL);
	printf("bad children: %d\n", bad);
}

/* CHILDREN of them, 30 if that is not said; with `true` in their place if they start it. */
static void run_in_a_row(pid_t (*begin)(void))
{
	const char *said = getenv("CHILDREN");
	int count = said ? atoi(said) : 30;
	int bad = 0;
	for (int i = 0; i < count; i++) {
		int status = -1;
		pid_t pid = begin();
		if (waitpid(pid, &status, 0) != pid || status != 0)
			bad++;
	}
	printf("children: %d, bad: %d\n", count, bad);
	say_errno("no more", wait(NULL));
	printf("descriptors: %d\n", dup(0));
}

static pid_t begin_short(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(close(-1) == 0);
	return pid;
}

static pid_t begin_true(void)
{
	pid_t pid = vfork();
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	return pid;
}

static void short_ones(void)
{
	run_in_a_row(begin_short);
}

static void execs(void)
{
	run_in_a_row(begin_true);
}

static void spawns(void)
{
	char *arguments[] = { (char *)"true", NULL };
	char *script[] = { (char *)"/nonexistent", NULL };
	int status;
	pid_t pid;
	say("posix_spawn", posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ));
	say_status("waitpid", pid, waitpid(pid, &status, 0), status);
	say("posix_spawnp", posix_spawnp(&pid, "false", NULL, NULL, arguments, environ));
	say_status("waitpid", pid, waitpid(pid, &status, 0), status);
	say("old posix_spawn", old_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ));
	say_status("waitpid", pid, waitpid(pid, &status, 0), status);
	say("nothing there", posix_spawn(&pid, script[0], NULL, NULL, script, environ));
	say("without a place", posix_spawn(NULL, "/bin/true", NULL, NULL, arguments, environ));
	printf("wait %d\n", wait(&status) > 0);
	printf("system %x\n", system("exit 3"));
}

/* A vfork child runs in our memory; what it does must not end or spoil our recording. */
static void vforks(void)
{
	int status;
	for (volatile int i = 0; i < 20; i++) {
		pid_t pid = vfork();
		if (pid == 0) {
			close(-1);
			execl("/nonexistent", "nonexistent", (char *)NULL);
			_exit(9);
		}
		waitpid(pid, &status, 0);
	}
	printf("vfork %x\n", status);
	pid_t pid = vfork();
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	say_status("vfork and exec", pid, waitpid(pid, &status, 0), status);
}

/* The child forks in the same way. */
static void nested_vforks(void)
{
	int status = 0;
	for (volatile int i = 0; i < 6; i++) {
		pid_t pid = vfork();
		if (pid == 0) {
			pid = vfork();
			if (pid == 0)
				_exit(5);
			_exit(6);
		}
		waitpid(pid, &status, 0);
		printf("round %d: %x\n", i, status);
	}
}

/* The status is there when it is asked for without waiting: for any child, or by its number. */
static void there(void)
{
	siginfo_t info;
	for (int i = 0; i < 4; i++) {
		int status = 0;
		pid_t pid = start(i);
		while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
		       info.si_pid != pid)
			sched_yield();
		say_status("there", pid, waitpid(i % 2 ? pid : -1, &status, WNOHANG), status);
		say_errno("no more", waitpid(-1, &status, WNOHANG));
	}
}

static const struct scenario scenarios[] = {
	{ "there", there },
	{ "waits", waits },
	{ "works", works },
	{ "threads", among_threads },
	{ "spawns", spawns },
	{ "vforks", vforks },
	{ "nested_vforks", nested_vforks },
	{ "allocating", allocating },
	{ "short", short_ones },
	{ "execs", execs },
};

SCENARIOS_MAIN
