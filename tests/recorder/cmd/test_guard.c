/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, a file that is shortened while it is read kills the command. */
#include "guard.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

enum { PAGES = 8, PAGE = 4096 };

static char *map_file(int *fd)
{
	char path[] = "/tmp/wcprof-test-XXXXXX";
	char *mapping;

	*fd = mkstemp(path);
	ck_assert_int_ge(*fd, 0);
	unlink(path);
	ck_assert_int_eq(ftruncate(*fd, PAGES * PAGE), 0);
	mapping = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	ck_assert_ptr_ne(mapping, MAP_FAILED);
	memset(mapping, 'x', PAGES * PAGE);
	return mapping;
}

START_TEST(what_is_gone_reads_as_zeros)
{
	int fd;
	char *mapping = map_file(&fd);

	ck_assert(guard_add(mapping, PAGES * PAGE));
	ck_assert(!guard_is_torn(mapping));
	ck_assert_int_eq(ftruncate(fd, 2 * PAGE), 0);
	ck_assert_int_eq(mapping[PAGE], 'x');
	ck_assert(!guard_is_torn(mapping));
	/* The last page first: the ones before are met later. */
	for (int i = PAGES; i-- > 2;)
		ck_assert_int_eq(mapping[i * PAGE + 77], 0);
	ck_assert(guard_is_torn(mapping));
	ck_assert_int_eq(mapping[2 * PAGE - 1], 'x');
	mapping[5 * PAGE] = 'y';
	ck_assert_int_eq(mapping[5 * PAGE], 'y');
	guard_remove(mapping);
	ck_assert(!guard_is_torn(mapping));
}
END_TEST

START_TEST(each_mapping_for_itself)
{
	int fds[40];
	char *mappings[40];

	for (int i = 0; i < 40; i++) {
		mappings[i] = map_file(&fds[i]);
		ck_assert(guard_add(mappings[i], PAGES * PAGE));
	}
	for (int i = 0; i < 40; i += 2) {
		ck_assert_int_eq(ftruncate(fds[i], 0), 0);
		ck_assert_int_eq(mappings[i][0], 0);
	}
	for (int i = 0; i < 40; i++)
		ck_assert(guard_is_torn(mappings[i]) == (i % 2 == 0));
	for (int i = 0; i < 40; i += 3)
		guard_remove(mappings[i]);
	for (int i = 0; i < 40; i++)
		ck_assert(guard_is_torn(mappings[i]) == (i % 2 == 0 && i % 3 != 0));
}
END_TEST

START_TEST(elsewhere_it_ends_the_command)
{
	int fd, status;
	char *guarded = map_file(&fd);
	char *other = map_file(&fd);
	pid_t pid = fork();

	if (pid == 0) {
		guard_add(guarded, PAGES * PAGE);
		(void)!ftruncate(fd, 0);
		_exit(other[0]);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGBUS);
}
END_TEST

SUITE()
{
	TEST(what_is_gone_reads_as_zeros);
	TEST(each_mapping_for_itself);
	TEST(elsewhere_it_ends_the_command);
}
