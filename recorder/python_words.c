/* SPDX-License-Identifier: Apache-2.0 */
/* See python_words.h. An entry that two threads write at once has a wrong sum, and is none. */
#include "python_words.h"

#include "atomics.h"

#include "in_target.h"

enum { WORDS = 2048 };

static struct {
	uint64_t sum; /* of the digest and the word */
	uint64_t word;
} words[WORDS];

uint64_t python_words_find(uint64_t digest)
{
	uint64_t word = load_acquire(&words[digest % WORDS].word);

	return word && load_acquire(&words[digest % WORDS].sum) - word == digest ? word : 0;
}

void python_words_note(uint64_t digest, uint64_t word)
{
	store_release(&words[digest % WORDS].sum, digest + word);
	store_release(&words[digest % WORDS].word, word);
}
