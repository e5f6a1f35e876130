/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a line of source stands for other code than its own. */
#include "source.h"

#include <string.h>

#include "mapped.h"
#include "line_of.h"
#include "suite.h"

static struct mapped mapped;
static Dwarf *dwarf;
static volatile long sink;

static inline __attribute__((always_inline)) long copied(long number)
{
	sink += number;
	return sink; /* COPIED */
}

static __attribute__((noinline)) void first_caller(long number)
{
	sink = copied(number) + 1;
	sink++;
}

static __attribute__((noinline)) void second_caller(long number)
{
	sink = copied(number + 3) + 1;
	sink++; /* SECOND */
}

static void setup(void)
{
	first_caller(1);
	second_caller(2);
	ck_assert_int_eq(mapped_open_file(&mapped, "/proc/self/exe"), 0);
	dwarf = mapped_dwarf(&mapped, &mapped.files[0]);
	ck_assert_ptr_nonnull(dwarf);
}

static void teardown(void)
{
	mapped_close(&mapped);
}

static struct source_line found;

START_TEST(a_line_is_in_each_copy_of_its_function)
{
	source_find(dwarf, "test_source.c", line_of(__FILE__, "COPIED"), &found);
	ck_assert_uint_eq(found.line, line_of(__FILE__, "COPIED"));
	ck_assert_uint_eq(found.count, 2);
	source_find(dwarf, "cmd/test_source.c", line_of(__FILE__, "SECOND"), &found);
	ck_assert_uint_eq(found.count, 1);
}

START_TEST(a_line_without_code_is_the_next_one)
{
	source_find(dwarf, "test_source.c", 4, &found);
	ck_assert_ptr_nonnull(found.file);
	ck_assert_uint_gt(found.line, 4);
	ck_assert_uint_gt(found.count, 0);
	source_find(dwarf, "test_source.c", 100000, &found);
	ck_assert(found.file && found.line == 0 && found.count == 0);
	source_find(dwarf, "no_source.c", 1, &found);
	ck_assert_ptr_null(found.file);
}

static bool see_copy(void *context, const char *file, uint32_t line)
{
	ck_assert(file && source_is_called(file, "test_source.c") && line > 0);
	++*(size_t *)context;
	return true;
}

START_TEST(copies_are_counted)
{
	size_t count = 0;

	source_inlined(dwarf, "copied", see_copy, &count);
	ck_assert_uint_eq(count, 2);
	source_inlined(dwarf, "first_caller", see_copy, &count);
	ck_assert_uint_eq(count, 2);
}

START_TEST(a_path_is_known_by_its_end)
{
	ck_assert(source_is_called("/a/b/c.c", "c.c"));
	ck_assert(source_is_called("/a/b/c.c", "b/c.c"));
	ck_assert(source_is_called("/a/b/c.c", "/a/b/c.c"));
	ck_assert(!source_is_called("/a/b/c.c", ".c"));
	ck_assert(!source_is_called("c.c", "b/c.c"));
}

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_line_is_in_each_copy_of_its_function);
	TEST(a_line_without_code_is_the_next_one);
	TEST(copies_are_counted);
	TEST(a_path_is_known_by_its_end);
}
