/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of events and their numbers.
 *
 * Each event has two or three words, so a word must be found in a few nanoseconds. A hint is picked
 * by the word's first bytes and length, and is mostly right. If not, all words are gone through,
 * and the hint becomes this word's. Dumps use a dozen words, and all of these get hints of their
 * own.
 */
#include "words.h"

#include "format.h"
#include "intern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORDS_FIRST = 32,
	WORDS_MAX = 1024,  /* a dump with more kinds means something else by a kind */
	OUTCOMES_MAX = 256 /* rec_op.outcome is one byte */
};

static const char *const kind_words[] = {
#define KIND(number, name, word, work, meaning) [number] = (word),
#include "events.def"
};

static const uint8_t kind_works[] = {
#define KIND(number, name, word, work, meaning) [number] = WORK_##work,
#include "events.def"
};

static const char *const outcome_words[] = {
#define OUTCOME(number, name, word, meaning) [number] = (word),
#include "events.def"
};

static const char *const reason_words[] = {
#define REASON(number, name, word, meaning) [number] = (word),
#include "events.def"
};

static const char *const link_words[] = {
#define LINK(number, name, word, meaning) [number] = (word),
#include "events.def"
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *const *words;
	size_t count;
	size_t max;
} known[] = {
	[VOCABULARY_KINDS] = { kind_words, COUNT_OF(kind_words), WORDS_MAX },
	[VOCABULARY_OUTCOMES] = { outcome_words, COUNT_OF(outcome_words), OUTCOMES_MAX },
	[VOCABULARY_REASONS] = { reason_words, COUNT_OF(reason_words), WORDS_MAX },
	[VOCABULARY_LINKS] = { link_words, COUNT_OF(link_words), WORDS_MAX },
};

_Static_assert(COUNT_OF(kind_words) <= WORDS_FIRST && COUNT_OF(outcome_words) <= WORDS_FIRST &&
		       COUNT_OF(reason_words) <= WORDS_FIRST && COUNT_OF(link_words) <= WORDS_FIRST,
	       "the first allocation holds all rows");

bool words_begin(struct vocabulary *vocabulary, enum vocabulary_kind kind, struct rec_words *words)
{
	size_t i;

	*vocabulary = (struct vocabulary){ .words = words,
					   .capacity = WORDS_FIRST,
					   .word_max = known[kind].max };
	words->words = malloc(WORDS_FIRST * sizeof(*words->words));
	if (!words->words)
		return false;
	for (i = 0; i < known[kind].count; i++) {
		assert(known[kind].words[i]); /* rows are numbered without gaps */
		words->words[i] = known[kind].words[i];
	}
	words->count = known[kind].count;
	return true;
}

static bool is_word(const char *word, const char *bytes, size_t length)
{
	return strncmp(word, bytes, length) == 0 && word[length] == '\0';
}

static uint32_t add_word(struct vocabulary *vocabulary, struct recording *recording,
			 const char *bytes, size_t length)
{
	struct rec_words *words = vocabulary->words;
	uint32_t text;

	if (words->count == vocabulary->word_max)
		return NO_INDEX;
	if (words->count == vocabulary->capacity) {
		void *moved =
			realloc(words->words, 2 * vocabulary->capacity * sizeof(*words->words));

		if (!moved)
			return NO_INDEX;
		words->words = moved;
		vocabulary->capacity *= 2;
	}
	text = recording_intern_bytes(recording, bytes, length);
	if (text == NO_INDEX)
		return NO_INDEX;
	words->words[words->count] = recording->strings[text];
	return (uint32_t)words->count++;
}

uint32_t words_find(struct vocabulary *vocabulary, struct recording *recording, const char *bytes,
		    size_t length)
{
	const struct rec_words *words = vocabulary->words;
	struct word_hint *hint;
	uint64_t head;
	uint32_t word;

	if (length == 0)
		return 0;
	memcpy(&head, bytes, sizeof(head));
	if (length < sizeof(head))
		head &= (UINT64_C(1) << 8 * length) - 1;
	hint = &vocabulary->hints[((head ^ length) * 0x9e3779b97f4a7c15u >> 32) % WORD_HINTS];
	if (hint->head == head && hint->length == length &&
	    (length <= sizeof(head) ||
	     is_word(words->words[hint->word] + 8, bytes + 8, length - 8)))
		return hint->word;
	for (word = 0; word < words->count; word++)
		if (is_word(words->words[word], bytes, length))
			break;
	if (word == words->count)
		word = add_word(vocabulary, recording, bytes, length);
	if (word != NO_INDEX)
		*hint = (struct word_hint){ head, (uint32_t)length, word };
	return word;
}

int words_work(const char *bytes, size_t length)
{
#define WORK(number, name, word, meaning)                                             \
	if (length == sizeof(word) - 1 && memcmp(bytes, word, sizeof(word) - 1) == 0) \
		return (number);
#include "events.def"
	return -1;
}

uint8_t words_kind_work(uint32_t kind)
{
	return kind < COUNT_OF(kind_works) ? kind_works[kind] : WORK_ENGINE;
}

void words_free(struct rec_words *words)
{
	free(words->words);
	*words = (struct rec_words){ 0 };
}
