/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, functions are looked for in the wrong files, or at the wrong addresses. */
#include "mapped.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

/* Not static: its symbol is one of the program's. */
int mapped_test_function(int number);
int mapped_test_function(int number)
{
	return number + 1;
}

static struct mapped mapped;

static const struct mapped_function *find(struct mapped_file *file, const char *name)
{
	const struct mapped_function *functions;
	size_t count = mapped_functions(&mapped, file, &functions);

	for (size_t i = 0; i < count; i++)
		if (strcmp(functions[i].name, name) == 0)
			return &functions[i];
	return NULL;
}

START_TEST(a_function_is_where_the_process_has_it)
{
	const struct mapped_function *function;
	uint64_t offset;
	unsigned char bytes[4];
	FILE *file;

	ck_assert_int_eq(mapped_open(&mapped, getpid()), 0);
	function = find(&mapped.files[0], "mapped_test_function");
	ck_assert(function && function->bytes > 0 && !function->is_chosen_later);
	ck_assert_ptr_eq((void *)(uintptr_t)(function->address + mapped.files[0].module.bias),
			 (void *)(uintptr_t)mapped_test_function);
	/* The bytes of the file are those that are run. */
	ck_assert(mapped_offset(&mapped.files[0], function->address, &offset));
	file = fopen(mapped.files[0].path, "re");
	ck_assert(file && fseek(file, (long)offset, SEEK_SET) == 0);
	ck_assert_uint_eq(fread(bytes, 1, sizeof(bytes), file), sizeof(bytes));
	ck_assert_mem_eq(bytes, (void *)(uintptr_t)mapped_test_function, sizeof(bytes));
	fclose(file);
	ck_assert_uint_eq(mapped.files[0].module.build_id_bytes, 20);
	mapped_close(&mapped);
}

START_TEST(libraries_are_found_by_parts_of_their_names)
{
	static const char *const names[] = { "libc", "libc.so", "libc.so.6",
					     "x86_64-linux-gnu/libc.so.6", "" };
	size_t count = 0;

	ck_assert_int_eq(mapped_open(&mapped, getpid()), 0);
	for (size_t i = 0; i < mapped.count; i++) {
		if (!mapped_is_called(&mapped.files[i], names[_i]))
			continue;
		count++;
		if (names[_i][0])
			ck_assert_ptr_nonnull(find(&mapped.files[i], "fopen@@GLIBC_2.2.5"));
	}
	ck_assert(names[_i][0] ? count == 1 : count == mapped.count);
	mapped_close(&mapped);
}

START_TEST(what_is_no_file_says_so)
{
	ck_assert_int_eq(mapped_open(&mapped, 0x7ffffff0), -ENOENT);
	ck_assert_int_eq(mapped_open_file(&mapped, "/proc/self/cmdline"), -ENOEXEC);
	ck_assert_int_eq(mapped_open_file(&mapped, "/nowhere"), -ENOENT);
	ck_assert_int_eq(mapped_open_file(&mapped, "/etc/passwd"), -ENOEXEC);
}

START_TEST(a_file_alone_is_read_too)
{
	const struct mapped_function *function;

	ck_assert_int_eq(mapped_open_file(&mapped, "/proc/self/exe"), 0);
	function = find(&mapped.files[0], "mapped_test_function");
	ck_assert_ptr_nonnull(function);
	ck_assert_uint_eq(mapped.files[0].module.bias, 0);
	ck_assert_ptr_nonnull(mapped_dwarf(&mapped, &mapped.files[0]));
	mapped_close(&mapped);
}

SUITE()
{
	TEST(a_function_is_where_the_process_has_it);
	LOOP(libraries_are_found_by_parts_of_their_names, 0, 5);
	TEST(what_is_no_file_says_so);
	TEST(a_file_alone_is_read_too);
}
