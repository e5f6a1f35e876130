/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a sandbox is not recognised, and a call of the recorder ends its program. Or a
 * container is taken for one, and nothing in it is recorded.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter.h"
#include "suite.h"

static const struct {
	const char *status;
	int count;
} files[] = {
	/* 0 */ { "Name:\ta\nSeccomp:\t0\nSeccomp_filters:\t0\nCpus_allowed:\t3\n", 0 },
	/* 1 */ { "Seccomp:\t2\nSeccomp_filters:\t1\n", 1 },
	/* 2 */ { "Seccomp:\t2\nSeccomp_filters:\t12\n", 12 },
	/* 3: before Linux 5.9 */ { "NoNewPrivs:\t1\nSeccomp:\t2\nSpeculation:\t1\n", 1 },
	/* 4 */ { "NoNewPrivs:\t1\nSeccomp:\t0\nSpeculation:\t1\n", 0 },
	/* 5: without filters in the kernel */ { "Name:\ta\nCpus_allowed:\t3\n", 0 },
	/* 6: a program's name */ { "Name:\tSeccomp:\t7\nSeccomp:\t0\n", 0 },
	/* 7 */ { "", -1 },
	/* 8: lines that are cut off say nothing */ { "Seccomp:\t2", -1 },
	/* 9 */ { "Name:\ta\nSeccomp:\t2", -1 },
};

START_TEST(filters_are_counted)
{
	char path[] = "/tmp/wcprof-test-XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_eq(write(fd, files[_i].status, strlen(files[_i].status)),
			 (ssize_t)strlen(files[_i].status));
	close(fd);
	ck_assert_int_eq(filter_count(path), files[_i].count);
	unlink(path);
}
END_TEST

START_TEST(a_long_line_is_passed_over)
{
	char path[] = "/tmp/wcprof-test-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");

	fputs("Groups:\t", file);
	for (int i = 0; i < 5000; i++)
		fprintf(file, "%d ", i);
	fputs("\nSeccomp:\t2\nSeccomp_filters:\t3\n", file);
	fclose(file);
	ck_assert_int_eq(filter_count(path), 3);
	unlink(path);
}
END_TEST

START_TEST(a_file_that_is_not_there_says_nothing)
{
	ck_assert_int_eq(filter_count("/proc/self/no such file"), -1);
}
END_TEST

/* Allows what the loader needs, and kills for anything else. */
static void set_filter(void)
{
	static const unsigned allowed[] = { SYS_openat, SYS_read, SYS_close, SYS_exit_group };
	enum { ALLOWED = sizeof(allowed) / sizeof(allowed[0]) };
	struct sock_filter code[2 * ALLOWED + 2];
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	size_t used = 0;

	code[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						    offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ALLOWED; i++) {
		code[used++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

START_TEST(a_filter_of_ones_own_is_found_without_a_forbidden_call)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		set_filter();
		syscall(SYS_exit_group, filter_may_kill() ? 3 : 4);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 3, "status %x", status);
}
END_TEST

SUITE()
{
	EACH(filters_are_counted, files);
	TEST(a_long_line_is_passed_over);
	TEST(a_file_that_is_not_there_says_nothing);
	TEST(a_filter_of_ones_own_is_found_without_a_forbidden_call);
}
