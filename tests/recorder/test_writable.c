/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: memory that is read-only is written to, and the program gets a fault.
 */
#include "recorder.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "suite.h"

enum { PAGE_BYTES = 4096 };

static const int constant = 1;
static int variable = 1;

static char *map(size_t pages)
{
	char *memory = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	return memory;
}

static bool has(const struct recorder_writable *writable, const void *from, size_t bytes)
{
	return recorder_writable_has(writable, (uint64_t)(uintptr_t)from, bytes);
}

START_TEST(data_is_writable_and_code_is_not)
{
	struct recorder_writable writable;
	int local = 1;

	ck_assert(recorder_writable_read(&writable));
	ck_assert(has(&writable, &variable, sizeof(variable)));
	ck_assert(has(&writable, &local, sizeof(local)));
	ck_assert(!has(&writable, &constant, sizeof(constant)));
	ck_assert(!has(&writable, NULL, 8));
	recorder_writable_forget(&writable);
}
END_TEST

START_TEST(a_range_ends_where_it_ends)
{
	char *memory = map(3);
	struct recorder_writable writable;

	ck_assert_int_eq(mprotect(memory + PAGE_BYTES, PAGE_BYTES, PROT_READ), 0);
	ck_assert(recorder_writable_read(&writable));
	ck_assert(has(&writable, memory + PAGE_BYTES - 8, 8));
	ck_assert(!has(&writable, memory + PAGE_BYTES - 7, 8));
	ck_assert(!has(&writable, memory + PAGE_BYTES, 1));
	ck_assert(!has(&writable, memory + 2 * PAGE_BYTES - 1, 1));
	ck_assert(has(&writable, memory + 2 * PAGE_BYTES, 8));
	recorder_writable_forget(&writable);
}
END_TEST

/* More than there is room for at first. */
START_TEST(many_mappings_are_known)
{
	enum { MAPPINGS = 2000 };
	char *memory = map(2 * MAPPINGS);
	struct recorder_writable writable;

	for (int i = 0; i < MAPPINGS; i++)
		ck_assert_int_eq(mprotect(memory + (2 * i + 1) * PAGE_BYTES, PAGE_BYTES, PROT_READ),
				 0);
	ck_assert(recorder_writable_read(&writable));
	for (int i = 0; i < 2 * MAPPINGS; i++)
		ck_assert_int_eq(has(&writable, memory + i * PAGE_BYTES, 1), i % 2 == 0);
	recorder_writable_forget(&writable);
}
END_TEST

SUITE()
{
	TEST(data_is_writable_and_code_is_not);
	TEST(a_range_ends_where_it_ends);
	TEST(many_mappings_are_known);
}
