/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: a filter of system calls kills for what the program does not do itself, and the
 * program lives.
 */
#include "scenario.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS_MAX = 64, WRITES = 2000, STATUS = 7 };

/* Allows these calls, and ends the process for any other. */
static void set_filter(const unsigned *allowed, size_t count, unsigned action)
{
	struct sock_filter code[2 * CALLS_MAX + 2];
	struct sock_fprog program = { .filter = code };
	size_t used = 0;

	code[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						    offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < count; i++) {
		code[used++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	program.len = (unsigned short)used;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
		perror("filter");
}

static void tell(const char *text)
{
	(void)!write(1, text, strlen(text));
}

/* --- Set before exec --- */

/* The loader's. */
#define LOADING                                                                          \
	SYS_execve, SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_access, SYS_openat, \
		SYS_newfstatat, SYS_read, SYS_pread64, SYS_close, SYS_arch_prctl,        \
		SYS_set_tid_address, SYS_set_robust_list, SYS_rseq, SYS_prlimit64, SYS_getrandom

/* Those of the program below. */
#define DOING                                                                                \
	SYS_write, SYS_exit_group, SYS_exit, SYS_clone, SYS_clone3, SYS_vfork, SYS_wait4,    \
		SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_futex, SYS_madvise, SYS_setresuid, \
		SYS_setuid, SYS_dup, SYS_gettid, SYS_clock_nanosleep, SYS_unshare, SYS_prctl

static void become_filtered(unsigned action)
{
	static const unsigned allowed[] = { LOADING, DOING };

	usleep(1);
	set_filter(allowed, sizeof(allowed) / sizeof(allowed[0]), action);
	execl("/proc/self/exe", "sandboxes", "inside", (char *)NULL);
	perror("exec");
}

static void killed_before(void)
{
	become_filtered(SECCOMP_RET_KILL_PROCESS);
}

static void refused_before(void)
{
	become_filtered(SECCOMP_RET_ERRNO | EPERM);
}

static void *write_one(void *unused)
{
	tell("thread\n");
	return unused;
}

/* Hooks of all kinds, each of which must pass the call on. */
static void inside(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;
	int status = 0;
	pid_t pid;
	void *library;

	pthread_create(&thread, NULL, write_one, NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < WRITES; i++) {
		pthread_mutex_lock(&mutex);
		(void)!write(1, "", 0);
		pthread_mutex_unlock(&mutex);
	}
	usleep(1);
	close(dup(1));
	library = dlopen("libm.so.6", RTLD_NOW);
	tell(library && dlclose(library) == 0 ? "library\n" : "no library\n");
	pid = fork();
	if (pid == 0)
		_exit(STATUS);
	waitpid(pid, &status, 0);
	tell(WIFEXITED(status) && WEXITSTATUS(status) == STATUS ? "child\n" : "no child\n");
	pid = vfork();
	if (pid == 0)
		_exit(STATUS);
	waitpid(pid, &status, 0);
	tell(WIFEXITED(status) && WEXITSTATUS(status) == STATUS ? "vfork\n" : "no vfork\n");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_unshare, 0);
	execl("/nonexistent", "nonexistent", (char *)NULL);
	tell("inside\n");
}

/* --- Set by a vfork child --- */

/* Until then it was recorded. */
static void filter_and_end(void)
{
	static const unsigned allowed[] = { SYS_write, SYS_exit_group };

	(void)!write(1, "", 0);
	set_filter(allowed, sizeof(allowed) / sizeof(allowed[0]), SECCOMP_RET_KILL_PROCESS);
	for (int i = 0; i < WRITES; i++)
		(void)!write(1, "", 0);
	_exit(STATUS);
}

static void in_vfork(void)
{
	pid_t pid = vfork();
	int status = 0;

	if (pid == 0)
		filter_and_end();
	waitpid(pid, &status, 0);
	printf("vfork child %x\n", status);
	usleep(1);
}

/* And one that could not set its filter goes on. */
static void refused_in_vfork(void)
{
	pid_t pid = vfork();
	int status = 0;

	if (pid == 0) {
		int result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)8, 0, 0);

		(void)!write(1, "", 0);
		_exit(result == -1 ? STATUS : 0);
	}
	waitpid(pid, &status, 0);
	printf("vfork child %x\n", status);
	usleep(1);
}

static const struct scenario scenarios[] = {
	{ "killed before", killed_before },
	{ "refused before", refused_before },
	{ "inside", inside },
	{ "in vfork", in_vfork },
	{ "refused in vfork", refused_in_vfork },
};

SCENARIOS_MAIN
