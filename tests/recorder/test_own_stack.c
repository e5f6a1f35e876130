/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, memory is read that is not there. */
#include "own_stack.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "suite.h"

static uint64_t at(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

static void *look(void *other)
{
	uint64_t local = 0;

	ck_assert(own_stack_has(at(&local)));
	ck_assert_uint_gt(stack_words_above(at(&local)), 1);
	ck_assert_uint_eq(stack_words_above(at(&local) + 1), 0);
	/* It is known from then on, as far down as that. */
	ck_assert_uint_le(own_stack.low, at(&local));
	ck_assert_uint_gt(own_stack.top, at(&local));
	ck_assert(!own_stack_has(at(other)));
	ck_assert_uint_eq(stack_words_above(at(other)), 0);
	return NULL;
}

START_TEST(a_threads_stack_is_its_own)
{
	uint64_t *heap = malloc(sizeof(*heap));
	uint64_t local = 0;
	pthread_t thread;

	look(heap);
	ck_assert_int_eq(pthread_create(&thread, NULL, look, heap), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, look, &local), 0);
	pthread_join(thread, NULL);
	free(heap);
}
END_TEST

START_TEST(what_is_not_mapped_cannot_be_read)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert(stack_is_readable(at(page)));
	ck_assert(stack_is_readable(at(page) + 4095));
	mprotect(page, 4096, PROT_NONE);
	ck_assert(!stack_is_readable(at(page)));
	munmap(page, 4096);
	ck_assert(!stack_is_readable(at(page)));
	ck_assert(!stack_is_readable(0));
}
END_TEST

SUITE()
{
	TEST(a_threads_stack_is_its_own);
	TEST(what_is_not_mapped_cannot_be_read);
}
