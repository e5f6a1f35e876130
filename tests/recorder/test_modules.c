/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, addresses in a dump cannot be turned into names. */
#include "modules.h"

#include <dlfcn.h>
#include <link.h>

#include "recording.h"

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

static const struct module_entry *module_of(const void *address)
{
	uint32_t index = modules_find(recorder_arena, recorder_arena->module_count,
				      (uint64_t)(uintptr_t)address, UINT32_MAX);

	return index == UINT32_MAX ? NULL : modules_at(recorder_arena, index);
}

static int compare_with_loader(struct dl_phdr_info *info, size_t size, void *count)
{
	const struct module_entry *module;
	const void *somewhere = NULL;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
			somewhere = (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	module = module_of(somewhere);
	ck_assert_msg(module != NULL, "%s is missing", info->dlpi_name);
	ck_assert_uint_eq(module->base, info->dlpi_addr);
	/* The loader may know a file by another of its names. */
	ck_assert(module->path[0] == '/' || strcmp(module->path, "[vdso]") == 0);
	++*(int *)count;
	return 0;
}

START_TEST(all_that_the_loader_knows_is_there)
{
	int count = 0;

	dl_iterate_phdr(compare_with_loader, &count);
	ck_assert_int_ge(count, 3);
}
END_TEST

START_TEST(data_belongs_to_its_module_too)
{
	static char zeroes[100000];
	const struct module_entry *module = module_of(zeroes + 50000);

	ck_assert_ptr_nonnull(module);
	ck_assert_ptr_nonnull(strstr(module->path, "test_modules"));
	ck_assert_uint_eq(module->build_id_bytes, 20);
	ck_assert_ptr_null(module_of((void *)16));
}
END_TEST

START_TEST(what_is_known_is_not_added_again)
{
	uint32_t count = recorder_arena->module_count;

	modules_save(recorder_arena);
	ck_assert_uint_eq(recorder_arena->module_count, count);
}
END_TEST

START_TEST(a_library_that_came_later_is_added)
{
	uint32_t count = recorder_arena->module_count;
	void *handle = dlopen("libanl.so.1", RTLD_NOW);

	if (!handle)
		handle = dlopen("libutil.so.1", RTLD_NOW);
	ck_assert_ptr_nonnull(handle);
	modules_save(recorder_arena);
	ck_assert_uint_eq(recorder_arena->module_count, count + 1);
	dlclose(handle);
	/* And stays, for the stacks that have it. */
	modules_save(recorder_arena);
	ck_assert_uint_eq(recorder_arena->module_count, count + 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("modules");
	TCase *tests = tcase_create("modules");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, all_that_the_loader_knows_is_there);
	tcase_add_test(tests, data_belongs_to_its_module_too);
	tcase_add_test(tests, what_is_known_is_not_added_again);
	tcase_add_test(tests, a_library_that_came_later_is_added);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
