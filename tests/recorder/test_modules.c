/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, addresses in a dump cannot be turned into names. */
#include "modules.h"

#include <dlfcn.h>
#include <link.h>

#include "clock.h"
#include "recording.h"
#include "suite.h"

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

static void *load_another(void)
{
	void *handle = dlopen("libanl.so.1", RTLD_NOW);

	if (!handle)
		handle = dlopen("libutil.so.1", RTLD_NOW);
	ck_assert_ptr_nonnull(handle);
	return handle;
}

static const struct module_entry *last_module(void)
{
	return modules_at(recorder_arena, recorder_arena->module_count - 1);
}

START_TEST(a_library_that_came_later_is_added)
{
	uint32_t count = recorder_arena->module_count;
	void *handle = load_another();

	modules_save(recorder_arena);
	ck_assert_uint_eq(recorder_arena->module_count, count + 1);
	ck_assert_uint_eq(last_module()->loaded, 0); /* nobody said when */
	ck_assert_uint_eq(last_module()->unloaded, 0);
	dlclose(handle);
	/* And stays, for the stacks that have it. */
	modules_save(recorder_arena);
	ck_assert_uint_eq(recorder_arena->module_count, count + 1);
	ck_assert_uint_ne(last_module()->unloaded, 0);
}
END_TEST

/* As the hooks call it. */
START_TEST(when_it_came_and_went)
{
	uint32_t count = recorder_arena->module_count;
	uint64_t before = clock_now_ticks(), loaded, unloaded;
	void *handle;

	modules_loading();
	loaded = clock_now_ticks();
	handle = load_another();
	modules_note();
	ck_assert_uint_eq(recorder_arena->module_count, count + 1);
	ck_assert_uint_ge(last_module()->loaded, before);
	ck_assert_uint_le(last_module()->loaded, loaded);
	modules_unloaded();
	ck_assert_uint_eq(last_module()->unloaded, 0);
	before = clock_now_ticks();
	dlclose(handle);
	modules_unloaded();
	unloaded = last_module()->unloaded;
	ck_assert_uint_ge(unloaded, before);
	ck_assert_uint_le(unloaded, clock_now_ticks());
	for (uint32_t i = 0; i < count; i++)
		ck_assert_uint_eq(modules_at(recorder_arena, i)->unloaded, 0);
	modules_save(recorder_arena);
	ck_assert_uint_eq(last_module()->unloaded, unloaded);
	/* The same at the same place is the same, there since it first came. */
	loaded = last_module()->loaded;
	modules_loading();
	handle = load_another();
	modules_save(recorder_arena);
	if (recorder_arena->module_count == count + 1) {
		ck_assert_uint_eq(last_module()->unloaded, 0);
		ck_assert_uint_eq(last_module()->loaded, loaded);
	}
	dlclose(handle);
}
END_TEST

/* The next loading finds what the one before it brought. */
START_TEST(each_loading_has_its_time)
{
	uint32_t count = recorder_arena->module_count;
	uint64_t between;
	void *handle;

	modules_loading();
	handle = load_another();
	between = clock_now_ticks();
	modules_loading();
	ck_assert_uint_eq(recorder_arena->module_count, count + 1);
	ck_assert_uint_le(last_module()->loaded, between);
	dlclose(handle);
	modules_save(recorder_arena);
}
END_TEST

/* A stack in such addresses is left to whoever knows the time. */
START_TEST(shared_addresses_belong_to_neither)
{
	uint32_t count = recorder_arena->module_count;
	uint64_t address = (uint64_t)(uintptr_t)dlopen;
	uint32_t index = modules_find(recorder_arena, count, address, UINT32_MAX);
	struct module_entry *other =
		arena_at(recorder_arena, ARENA_MODULES + (uint64_t)index * MODULE_BYTES);

	ck_assert_uint_lt(index, count);
	/* As if another file had been there before. */
	other->build_id[0] ^= 1;
	modules_save(recorder_arena);
	ck_assert_uint_eq(recorder_arena->module_count, count + 1);
	ck_assert_uint_ne(other->unloaded, 0);
	ck_assert_uint_eq(modules_find(recorder_arena, count + 1, address, UINT32_MAX), UINT32_MAX);
	ck_assert_uint_eq(modules_find(recorder_arena, count + 1, address, count), UINT32_MAX);
	ck_assert_uint_eq(modules_find(recorder_arena, count + 1, address, index), UINT32_MAX);
}
END_TEST

/* A thread that died, or was stopped, in the middle of it keeps nobody. */
START_TEST(a_lock_that_is_never_released)
{
	uint32_t count = recorder_arena->module_count;
	void *handle = load_another();

	recorder_arena->module_lock = 1;
	modules_save(recorder_arena);
	modules_unloaded();
	ck_assert_uint_eq(recorder_arena->module_count, count);
	recorder_arena->module_lock = 0;
	modules_save(recorder_arena);
	ck_assert_uint_eq(recorder_arena->module_count, count + 1);
	dlclose(handle);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(all_that_the_loader_knows_is_there);
	TEST(data_belongs_to_its_module_too);
	TEST(what_is_known_is_not_added_again);
	TEST(a_library_that_came_later_is_added);
	TEST(when_it_came_and_went);
	TEST(each_loading_has_its_time);
	TEST(shared_addresses_belong_to_neither);
	TEST(a_lock_that_is_never_released);
}
