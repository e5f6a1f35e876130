/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a mapping is missed, or taken for another file's. */
#include "maps.h"

#include "recording.h"
#include "suite.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { PAGE = 4096, MAPPINGS = 500 };

/* The mapping that has the address, until the next call; false: none. */
static bool find(const void *address, struct mapping *found)
{
	uint64_t at = (uint64_t)(uintptr_t)address;
	static struct maps maps; /* the path lies in it */
	bool is_found = false;

	ck_assert(maps_open(&maps));
	while (!is_found && maps_next(&maps, found))
		is_found = at >= found->start && at < found->end;
	maps_close(&maps);
	return is_found;
}

START_TEST(a_file_is_where_and_what_it_is)
{
	int fd = memfd_create("maps", 0);
	struct stat status;
	struct mapping mapping;
	char *shared, *private;

	ck_assert_int_eq(ftruncate(fd, 3 * PAGE), 0);
	ck_assert_int_eq(fstat(fd, &status), 0);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 2 * PAGE);
	private = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert(find(shared + 100, &mapping));
	ck_assert(mapping.is_shared && mapping.is_readable);
	ck_assert_uint_eq(mapping.offset, 2 * PAGE);
	ck_assert_uint_eq(mapping.inode, status.st_ino);
	ck_assert_uint_eq(mapping.device,
			  (uint64_t)major(status.st_dev) << 32 | minor(status.st_dev));
	ck_assert_uint_eq(mapping.start, (uintptr_t)shared);
	ck_assert(find(private, &mapping));
	ck_assert(!mapping.is_shared);
	ck_assert(strncmp(mapping.path, "/memfd:maps", 11) == 0 || mapping.path[0] == '\0');
	munmap(shared, PAGE);
	munmap(private, PAGE);
	close(fd);
}
END_TEST

/* More than one buffer of lines; each has a neighbour of another kind, or the kernel joins them. */
START_TEST(no_line_is_lost_between_two_reads)
{
	char *all = mmap(NULL, 2 * MAPPINGS * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mapping mapping;

	ck_assert_ptr_ne(all, MAP_FAILED);
	for (int i = 0; i < MAPPINGS; i++)
		ck_assert_int_eq(mprotect(all + 2 * i * PAGE, PAGE, PROT_NONE), 0);
	for (int i = 0; i < MAPPINGS; i++) {
		ck_assert(find(all + 2 * i * PAGE, &mapping));
		ck_assert_uint_eq(mapping.start, (uintptr_t)(all + 2 * i * PAGE));
		ck_assert(!mapping.is_readable);
		ck_assert_uint_eq(mapping.inode, 0);
		ck_assert_str_eq(mapping.path, "");
	}
	munmap(all, 2 * MAPPINGS * PAGE);
	ck_assert(!find(all, &mapping));
}
END_TEST

SUITE()
{
	TEST(a_file_is_where_and_what_it_is);
	TEST(no_line_is_lost_between_two_reads);
}
