/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: results and rights are those of a run without the library, and no thread has
 * others than the program's own.
 */
#include "scenario.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, TOGGLES = 300, THREADS = 3 };

int capset(void *header, const void *capabilities);

struct rights {
	struct __user_cap_data_struct words[2];
};

static struct rights rights_of(int tid)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, tid };
	struct rights rights;

	memset(&rights, 0, sizeof(rights));
	syscall(SYS_capget, &header, &rights);
	return rights;
}

static void tell(const char *what, int result)
{
	printf("%s: %s\n", what, result == 0 ? "done" : strerror(errno));
}

/* The number of own threads that have other rights than the first one. As it ends one may not be
 * there any more, and has none. */
static int count_others(void)
{
	struct rights own = rights_of(getpid()), gone;
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int others = 0;

	memset(&gone, 0, sizeof(gone));
	while (tasks && (entry = readdir(tasks)) != NULL) {
		struct rights other;

		if (entry->d_name[0] == '.')
			continue;
		other = rights_of(atoi(entry->d_name));
		others += memcmp(&other, &own, sizeof(own)) != 0 &&
			  memcmp(&other, &gone, sizeof(gone)) != 0;
	}
	if (tasks)
		closedir(tasks);
	return others;
}

static void say_all(void)
{
	uid_t users[3];
	gid_t groups[3];

	getresuid(&users[0], &users[1], &users[2]);
	getresgid(&groups[0], &groups[1], &groups[2]);
	printf("users %u %u %u, groups %u %u %u and %d more, effective capabilities %x\n", users[0],
	       users[1], users[2], groups[0], groups[1], groups[2], getgroups(0, NULL),
	       rights_of(0).words[0].effective);
	printf("threads with other rights: %d\n", count_others());
}

static int set_effective(uint32_t effective, bool by_libc)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct rights rights = rights_of(0);

	rights.words[0].effective = effective;
	rights.words[1].effective = 0;
	rights.words[0].inheritable = rights.words[1].inheritable = 0;
	return by_libc ? capset(&header, &rights) : (int)syscall(SYS_capset, &header, &rights);
}

static void run_plain(void)
{
	tell("setgroups", setgroups(0, NULL));
	tell("setgid", setgid(NOBODY));
	tell("setuid", setuid(NOBODY));
	tell("setuid back", setuid(0));
}

/* As setpriv does. */
static void keep(bool by_libc)
{
	prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	tell("setresuid", setresuid(NOBODY, NOBODY, NOBODY));
	tell("capset", set_effective(1U << CAP_SETGID | 1U << CAP_SETUID, by_libc));
	tell("setresgid", setresgid(NOBODY, NOBODY, NOBODY));
	tell("setgroups", setgroups(0, NULL));
	tell("setreuid", setreuid(1, 1));
	tell("setregid", setregid(1, 1));
}

static void give_up(bool by_libc)
{
	tell("capset", set_effective(1U << CAP_SETUID, by_libc));
	tell("setgid", setgid(NOBODY));
	tell("setegid", setegid(NOBODY));
	tell("setgroups", setgroups(0, NULL));
	tell("initgroups", initgroups("nobody", NOBODY));
	tell("setuid", setuid(NOBODY));
}

static void *toggle(void *unused)
{
	for (int i = 0; i < TOGGLES; i++)
		(void)!syscall(SYS_getppid);
	return unused;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];
	int failures = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, toggle, NULL);
	for (int i = 0; i < TOGGLES; i++)
		failures += seteuid(NOBODY) != 0 || setegid(NOBODY) == 0 || seteuid(0) != 0;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("failures: %d\n", failures);
}

static void run_alone(void)
{
	tell("unshare", unshare(CLONE_NEWUSER));
	printf("user %u\n", geteuid());
}

/* Into a name space of a child's. */
static void run_entering(void)
{
	char name[64], byte;
	int ready[2], done[2];
	pid_t pid;

	if (pipe(ready) != 0 || pipe(done) != 0)
		return;
	pid = fork();
	if (pid == 0) {
		close(done[1]);
		tell("unshare", unshare(CLONE_NEWUSER));
		fflush(stdout);
		(void)!write(ready[1], "", 1);
		(void)!read(done[0], &byte, 1);
		_exit(0);
	}
	(void)!read(ready[0], &byte, 1);
	snprintf(name, sizeof(name), "/proc/%d/ns/user", pid);
	tell("setns", setns(open(name, O_RDONLY), 0));
	close(done[1]);
	waitpid(pid, NULL, 0);
}

/* Only root has rights to give up: nobody else runs anything. */
#define SCENARIO(name, action)       \
	static void name(void)       \
	{                            \
		if (getuid() == 0) { \
			action;      \
			say_all();   \
		}                    \
	}

SCENARIO(plain, run_plain())
SCENARIO(kept, keep(true))
SCENARIO(kept_raw, keep(false))
SCENARIO(given_up, give_up(true))
SCENARIO(given_up_raw, give_up(false))
SCENARIO(threads, run_threads())
SCENARIO(alone, run_alone())
SCENARIO(entering, run_entering())

/* Allows what is needed to say so and to end, and kills the thread for anything else. */
static void filter(bool by_prctl)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	close(-1);
	fflush(stdout);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	tell("no such filter",
	     by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0)
		      : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL));
	if (by_prctl)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
	else
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	tell("filter", 0);
	fflush(stdout);
}

static void filtered(void)
{
	filter(true);
}

static void filtered_raw(void)
{
	filter(false);
}

/* And one who then does what he must not. */
static void killed(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		usleep(1);
		filter(true);
		getppid();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	tell("killed", WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? 0 : -1);
}

/* System calls of a recorder that this program and its libc do without; whoever makes one is
 * killed. */
static void forbid(void)
{
	static const unsigned numbers[] = {
		SYS_getpid,     SYS_gettid,        SYS_prctl,        SYS_getrusage,
		SYS_openat,     SYS_clock_gettime, SYS_socket,       SYS_tgkill,
		SYS_getcpu,     SYS_sigaltstack,   SYS_rt_sigreturn, SYS_process_vm_readv,
		SYS_ftruncate,  SYS_timer_delete,  SYS_timer_create, SYS_rt_sigaction,
		SYS_unlink,     SYS_nanosleep,     SYS_poll,         SYS_fallocate,
		SYS_close_range
	};
	enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };
	struct sock_filter code[2 * NUMBERS + 2];
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	size_t used = 0;

	code[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						    offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < NUMBERS; i++) {
		code[used++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i], 0, 1);
		code[used++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	tell("filter", (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
				    &program));
}

static void *read_one(void *end)
{
	char byte;

	return read(*(int *)end, &byte, 1) == 1 ? end : NULL;
}

/* Threads, libraries, children, users and programs come and go after the filter as before. */
static void forbidden(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW), *result = NULL;
	pthread_t early, late;
	int ends[2], status = 0;

	tell("pipe", pipe(ends));
	pthread_create(&early, NULL, read_one, &ends[0]);
	usleep(1);
	fflush(stdout);
	forbid();
	pthread_create(&late, NULL, read_one, &ends[0]);
	tell("bytes", write(ends[1], "12", 2) == 2 ? 0 : -1);
	pthread_join(early, &result);
	tell("early thread", result == &ends[0] ? 0 : -1);
	pthread_join(late, &result);
	tell("late thread", result == &ends[0] ? 0 : -1);
	tell("library", library ? dlclose(library) : -1);
	tell("user", setuid(getuid()));
	fflush(stdout);
	execl("/nonexistent", "nonexistent", (char *)NULL);
	tell("no such program", -1);
	fflush(stdout);
	if (fork() == 0)
		_exit(execl("/nonexistent", "nonexistent", (char *)NULL) == -1 ? 7 : 0);
	wait(&status);
	tell("child", WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : -1);
	if (syscall(SYS_fork) == 0) {
		tell("byte", write(ends[1], "3", 1) == 1 ? 0 : -1);
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
	tell("raw child", status);
}

static const struct scenario scenarios[] = {
	{ "plain", plain },
	{ "kept", kept },
	{ "kept-raw", kept_raw },
	{ "given-up", given_up },
	{ "given-up-raw", given_up_raw },
	{ "threads", threads },
	{ "alone", alone },
	{ "entering", entering },
	{ "filtered", filtered },
	{ "filtered-raw", filtered_raw },
	{ "killed", killed },
	{ "forbidden", forbidden },
};

SCENARIOS_MAIN
