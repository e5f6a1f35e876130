/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a lock that processes share is two locks, or two locks are one. */
#include "objects.h"

#include "recording.h"
#include "suite.h"
#include "watch.h"

#include <sys/mman.h>
#include <sys/stat.h>

enum { PAGE = 4096, MANY = 600 };

static struct self *self;
static int memory;

static void setup(void)
{
	recording_begin();
	self = self_enter();
	memory = memfd_create("objects", 0);
	ck_assert_int_eq(ftruncate(memory, 4 * PAGE), 0);
}

static void teardown(void)
{
	self_leave(self);
	recording_end();
}

static char *map(int flags, off_t offset)
{
	char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags, memory, offset);

	ck_assert_ptr_ne(at, MAP_FAILED);
	return at;
}

static struct watch *share(const char *address)
{
	struct watch *watch = watch_get(self, address, WATCH_MUTEX);

	ck_assert_ptr_nonnull(watch);
	watch_share(watch);
	return watch;
}

static const struct object_entry *find(const char *address)
{
	for (uint32_t i = 0; i < recorder_arena->object_count; i++)
		if (objects_at(recorder_arena, i)->address == (uintptr_t)address)
			return objects_at(recorder_arena, i);
	return NULL;
}

START_TEST(two_addresses_of_one_object)
{
	char *first = map(MAP_SHARED, PAGE), *second = map(MAP_SHARED, PAGE);
	struct stat status;

	share(first + 64);
	share(second + 64);
	share(second + 128);
	ck_assert(objects_are_wanted(recorder_arena));
	objects_place(recorder_arena);
	ck_assert(!objects_are_wanted(recorder_arena));
	ck_assert_uint_eq(recorder_arena->object_count, 3);
	ck_assert_int_eq(fstat(memory, &status), 0);
	ck_assert_uint_eq(find(first + 64)->inode, status.st_ino);
	ck_assert_uint_eq(find(first + 64)->offset, PAGE + 64);
	ck_assert_uint_eq(find(second + 64)->offset, PAGE + 64);
	ck_assert_uint_eq(find(second + 64)->device, find(first + 64)->device);
	ck_assert_uint_eq(find(second + 128)->offset, PAGE + 128);
}
END_TEST

START_TEST(what_is_private_is_no_object)
{
	char *private = map(MAP_PRIVATE, 0), *gone = map(MAP_SHARED, 0);

	share(private);
	share(gone);
	munmap(gone, PAGE);
	objects_place(recorder_arena);
	ck_assert_uint_eq(recorder_arena->object_count, 0);
	/* Of one of them it is known; of the other it never will be. */
	ck_assert_uint_eq(recorder_arena->counters[COUNTER_unplaced_objects], 1);
}
END_TEST

START_TEST(each_is_placed_once_and_anew_when_made_anew)
{
	char *at = map(MAP_SHARED, 0);
	struct watch *watch = share(at);

	watch_share(watch);
	objects_place(recorder_arena);
	watch_share(watch);
	ck_assert(!objects_are_wanted(recorder_arena));
	ck_assert_uint_eq(recorder_arena->object_count, 1);
	watch_forget(at);
	share(at);
	objects_place(recorder_arena);
	ck_assert_uint_eq(recorder_arena->object_count, 2);
	ck_assert_uint_gt(objects_at(recorder_arena, 1)->since,
			  objects_at(recorder_arena, 0)->since);
}
END_TEST

START_TEST(more_than_are_placed_at_a_time)
{
	char *at = map(MAP_SHARED, 0);

	for (int i = 0; i < MANY; i++)
		share(at + i * 4);
	objects_place(recorder_arena);
	ck_assert_uint_eq(recorder_arena->object_count, MANY);
}
END_TEST

START_TEST(the_dump_says_it)
{
	char *at = map(MAP_SHARED, PAGE);
	json_t *objects;

	share(at + 8);
	self_leave(self);
	objects = json_object_get(json_array_get(recording_dump(false), 0), "objects");
	self = self_enter();
	ck_assert_uint_eq(json_array_size(objects), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(objects, 0), "off")),
			 PAGE + 8);
	ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(objects, 0), "a")),
			 (json_int_t)(uintptr_t)(at + 8));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(two_addresses_of_one_object);
	TEST(what_is_private_is_no_object);
	TEST(each_is_placed_once_and_anew_when_made_anew);
	TEST(more_than_are_placed_at_a_time);
	TEST(the_dump_says_it);
}
