/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a recording: those of events.def under their own numbers, then whatever else dumps
 * say.
 *
 * A vocabulary is filled in while reading (words_find) and then only read. One thread.
 */
#ifndef WCPROF_WORDS_H
#define WCPROF_WORDS_H

#include "format.h"
#include "recording.h"

#include <stddef.h>
#include <stdint.h>

/* A word by its beginning and length, so that it is found without a walk through the table. */
struct word_hint {
	uint64_t head;   /* its first eight bytes */
	uint32_t length; /* 0 = no word here yet: the empty word is never looked up */
	uint32_t word;
};

enum { WORD_HINTS = 64 }; /* a power of two; more words than hints are found, slowly */

struct vocabulary {
	struct rec_words *words;
	size_t capacity;
	size_t word_max; /* how many words fit where their numbers are kept */
	struct word_hint hints[WORD_HINTS];
};

enum vocabulary_kind {
	VOCABULARY_KINDS,
	VOCABULARY_OUTCOMES,
	VOCABULARY_REASONS,
	VOCABULARY_LINKS
};

/* Starts `words` with the rows of events.def; false without memory. */
bool words_begin(struct vocabulary *vocabulary, enum vocabulary_kind kind, struct rec_words *words);

/*
 * The number of this word, which is added when it is new: `recording` gets its text. NO_INDEX when
 * there are too many words or no memory. 8 bytes from `bytes` must be readable whatever `length`
 * says.
 */
uint32_t words_find(struct vocabulary *vocabulary, struct recording *recording, const char *bytes,
		    size_t length);

/* The work type of this word, -1 for another; and of a kind that is in events.def, when an op says
 * none. */
int words_work(const char *bytes, size_t length);
uint8_t words_kind_work(uint32_t kind);

/* Whether an op of this kind is one call that may have blocked. */
static inline bool words_is_call(uint32_t kind)
{
	return kind == KIND_IO || kind == KIND_POLL || kind == KIND_SLEEP || kind == KIND_DNS;
}

void words_free(struct rec_words *words);

#endif
