/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, two threads have a table each instead of one, or a process without memory
 * crashes. */
#include "mapping.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "suite.h"

enum { THREADS = 8, BYTES = 1 << 20 };

static void *table;
static pthread_barrier_t all_here;

START_TEST(it_is_mapped_once_and_zero)
{
	static const char zero[BYTES];
	void *first;

	ck_assert(mapping_ensure(&table, BYTES));
	first = table;
	ck_assert_int_eq(memcmp(first, zero, BYTES), 0);
	memset(first, 1, BYTES);
	ck_assert(mapping_ensure(&table, BYTES));
	ck_assert_ptr_eq(table, first);
}
END_TEST

static void *ensure(void *seen)
{
	pthread_barrier_wait(&all_here);
	if (mapping_ensure(&table, BYTES))
		*(void **)seen = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	return NULL;
}

START_TEST(threads_that_come_at_once_have_one)
{
	pthread_t threads[THREADS];
	void *seen[THREADS] = { NULL };

	pthread_barrier_init(&all_here, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ensure, &seen[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_ptr_nonnull(table);
	for (int i = 0; i < THREADS; i++)
		ck_assert_ptr_eq(seen[i], table);
}
END_TEST

/* Also in a program that has all its later mappings locked. */
START_TEST(it_is_not_locked)
{
	char line[256];
	void *made;
	long kb = 0;
	FILE *file;

	if (mlockall(MCL_FUTURE) != 0)
		return;
	made = mapping_make(BYTES, -1);
	ck_assert_ptr_nonnull(made);
	memset(made, 1, BYTES);
	file = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof(line), file))
		(void)sscanf(line, "VmLck: %ld", &kb);
	munlockall();
	ck_assert_int_lt(kb, BYTES >> 10);
}
END_TEST

START_TEST(what_was_made_is_known)
{
	size_t bytes;

	ck_assert_ptr_null(mapping_made(0, &bytes));
	ck_assert(mapping_ensure(&table, BYTES));
	ck_assert_ptr_eq(mapping_made(0, &bytes), table);
	ck_assert_uint_eq(bytes, BYTES);
	ck_assert_ptr_null(mapping_made(1, &bytes));
}
END_TEST

START_TEST(without_memory_there_is_none)
{
	ck_assert(!mapping_ensure(&table, (size_t)1 << 60));
	ck_assert_ptr_null(table);
}
END_TEST

SUITE()
{
	TEST(it_is_mapped_once_and_zero);
	TEST(threads_that_come_at_once_have_one);
	TEST(it_is_not_locked);
	TEST(what_was_made_is_known);
	TEST(without_memory_there_is_none);
}
