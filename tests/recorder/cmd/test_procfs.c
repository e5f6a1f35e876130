/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, a process is taken for another one, a dead one for a living one, or the
 * reverse. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procfs.h"
#include "suite.h"

/* A child that waits until the other end of the pipe is closed. */
static pid_t start_child(int *hold, void (*before)(void))
{
	int ends[2], ready[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		if (before)
			before();
		(void)!write(ready[1], "", 1);
		_exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(ends[0]);
	close(ready[1]);
	ck_assert_int_eq((int)read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*hold = ends[1];
	return pid;
}

START_TEST(the_living_and_the_dead)
{
	struct procfs_status status;
	int hold;
	pid_t pid = start_child(&hold, NULL);
	siginfo_t info;

	ck_assert(procfs_read(pid, &status));
	ck_assert_int_eq(status.parent, getpid());
	ck_assert_uint_gt(status.start_ticks, 0);
	ck_assert(!status.is_zombie);
	ck_assert(procfs_lives(pid, status.start_ticks));
	ck_assert(procfs_lives(pid, 0));
	ck_assert(!procfs_lives(pid, status.start_ticks + 1));
	ck_assert(procfs_is_below(pid, getpid()));
	ck_assert(procfs_is_below(pid, pid));
	ck_assert(!procfs_is_below(getpid(), pid));
	close(hold);
	/* It has ended, and nobody has waited for it. */
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	ck_assert(procfs_read(pid, &status));
	ck_assert(status.is_zombie);
	ck_assert_int_eq(procfs_maps_file(pid, "/dev/none", NULL), 0);
	ck_assert(!procfs_lives(pid, status.start_ticks));
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert(!procfs_read(pid, &status));
	ck_assert(!procfs_lives(pid, 0));
	ck_assert(!procfs_read(0, &status));
	ck_assert(!procfs_read(-1, &status));
}
END_TEST

static void name_badly(void)
{
	prctl(PR_SET_NAME, "a) S 1 (b) R");
}

START_TEST(a_name_may_be_anything)
{
	struct procfs_status status;
	int hold;
	pid_t pid = start_child(&hold, name_badly);

	ck_assert(procfs_read(pid, &status));
	ck_assert_str_eq(status.name, "a) S 1 (b) R");
	ck_assert_int_eq(status.parent, getpid());
	close(hold);
	waitpid(pid, NULL, 0);
}
END_TEST

static int wait_fd;

static void *wait_for_end(void *unused)
{
	char byte;

	(void)unused;
	_exit(read(wait_fd, &byte, 1) == 0 ? 0 : 1);
	return NULL;
}

START_TEST(a_process_outlives_its_first_thread)
{
	int ends[2], status = 1;
	char state[512] = "";
	char stat_path[64], exe[4096] = "";
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		pthread_t thread;

		close(ends[1]);
		wait_fd = ends[0];
		pthread_create(&thread, NULL, wait_for_end, NULL);
		pthread_exit(NULL);
	}
	close(ends[0]);
	snprintf(stat_path, sizeof(stat_path), "/proc/%d/stat", (int)pid);
	/* Ends when the first thread has ended, which it does at once. */
	while (!strstr(state, ") Z "))
		ck_assert_int_gt((int)procfs_read_file(stat_path, state, sizeof(state)), 0);
	ck_assert(procfs_lives(pid, 0));
	/* Its memory is still there, and can be looked at by another thread. */
	ck_assert_int_eq(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0, 1);
	ck_assert_int_eq(procfs_maps_file(pid, exe, NULL), 1);
	ck_assert_int_eq(procfs_maps_file(pid, "/dev/none", NULL), 0);
	close(ends[1]);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(a_mapped_file_is_seen)
{
	char path[] = "/tmp/wcprof-test-XXXXXX";
	int fd = mkstemp(path);
	struct stat stat;
	void *mapping;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	ck_assert_int_eq(procfs_maps_file(getpid(), path, NULL), 0);
	mapping = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_int_eq(procfs_maps_file(getpid(), path, NULL), 1);
	ck_assert_int_eq(procfs_maps_file(getpid(), "/tmp/wcprof-test-", NULL), 0);
	/* In another mount name space it has another path, and the same inode. */
	ck_assert_int_eq(fstat(fd, &stat), 0);
	ck_assert_int_eq(procfs_maps_file(getpid(), "/none", &stat), 1);
	stat.st_ino++;
	ck_assert_int_eq(procfs_maps_file(getpid(), "/none", &stat), 0);
	/* Also when its name is gone. */
	unlink(path);
	ck_assert_int_eq(procfs_maps_file(getpid(), path, NULL), 1);
	munmap(mapping, 4096);
	ck_assert_int_eq(procfs_maps_file(getpid(), path, NULL), 0);
	ck_assert_int_eq(procfs_maps_file(-1, path, NULL), -1);
}
END_TEST

static bool is_same_pid(const void *context, pid_t pid)
{
	return pid == *(const pid_t *)context;
}

START_TEST(a_variable_is_seen_whole)
{
	static char cat[] = "cat", one[] = "OF_TEST=value", other[] = "OTHER_OF_TEST=word";
	char *const arguments[] = { cat, NULL };
	char *const environment[] = { one, other, NULL };
	int hold[2], from[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(hold), 0);
	ck_assert_int_eq(pipe(from), 0);
	pid = fork();
	if (pid == 0) {
		dup2(hold[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		close(hold[1]);
		execvpe("cat", arguments, environment);
		_exit(1);
	}
	/* It has its environment when it answers. */
	ck_assert_int_eq((int)write(hold[1], "x", 1), 1);
	ck_assert_int_eq((int)read(from[0], &byte, 1), 1);
	ck_assert_uint_eq(procfs_count_having("OF_TEST=value", is_same_pid, &pid), 1);
	ck_assert_uint_eq(procfs_count_having("OTHER_OF_TEST=word", is_same_pid, &pid), 1);
	ck_assert_uint_eq(procfs_count_having("OF_TEST=val", is_same_pid, &pid), 0);
	ck_assert_uint_eq(procfs_count_having("OF_TEST=word", is_same_pid, &pid), 0);
	close(hold[0]);
	close(hold[1]);
	waitpid(pid, NULL, 0);
	ck_assert_uint_eq(procfs_count_having("OF_TEST=value", is_same_pid, &pid), 0);
}
END_TEST

START_TEST(a_command_is_one_line)
{
	char command[4096];

	procfs_command(getpid(), command, sizeof(command));
	ck_assert_ptr_nonnull(strstr(command, "test_procfs"));
	ck_assert_ptr_null(strchr(command, '\n'));
	ck_assert(!procfs_is_elsewhere(getpid()));
	procfs_command(-1, command, sizeof(command));
	ck_assert_str_eq(command, "");
}
END_TEST

SUITE()
{
	TEST(the_living_and_the_dead);
	TEST(a_name_may_be_anything);
	TEST(a_process_outlives_its_first_thread);
	TEST(a_mapped_file_is_seen);
	TEST(a_variable_is_seen_whole);
	TEST(a_command_is_one_line);
}
