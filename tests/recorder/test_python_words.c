/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a frame of a Python program gets the word of another one. */
#include "python_words.h"

#include <pthread.h>

#include "suite.h"

enum { ROUNDS = 200000, FAR = 1 << 20 /* lands on the same entry */ };

START_TEST(words_are_found_by_their_digest)
{
	ck_assert_uint_eq(python_words_find(7), 0);
	python_words_note(7, 70);
	python_words_note(8, 80);
	ck_assert_uint_eq(python_words_find(7), 70);
	ck_assert_uint_eq(python_words_find(8), 80);
	ck_assert_uint_eq(python_words_find(7 + FAR), 0);
	python_words_note(7 + FAR, 90);
	ck_assert_uint_eq(python_words_find(7 + FAR), 90);
	ck_assert_uint_eq(python_words_find(7), 0);
}
END_TEST

static void *note_many(void *odd)
{
	for (uint64_t i = 0; i < ROUNDS; i++)
		python_words_note(7 + FAR * (i % 8 * 2 + !!odd), 1000 + i % 8 * 2 + !!odd);
	return NULL;
}

/* Two threads write one entry: whatever is found is the digest's own. */
START_TEST(a_torn_entry_is_none)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, note_many, NULL);
	pthread_create(&threads[1], NULL, note_many, threads);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t word = python_words_find(7 + FAR * (i % 16));

		ck_assert(word == 0 || word == 1000 + i % 16);
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}
END_TEST

SUITE()
{
	TEST(words_are_found_by_their_digest);
	TEST(a_torn_entry_is_none);
}
