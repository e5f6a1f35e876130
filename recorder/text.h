/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text into a buffer of the caller's: numbers, strings, JSON.
 *
 * A text never overflows: what does not fit is left out and `overflowed` says so. Nothing here
 * allocates, knows a locale or touches errno. Not shared between threads.
 */
#ifndef WCPROF_TEXT_H
#define WCPROF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "recorder.h"

struct text {
	char *bytes;
	size_t used;
	size_t size;
	bool overflowed;
};

static inline size_t text_room(const struct text *text)
{
	return text->size - text->used;
}

static inline void text_put_bytes(struct text *text, const char *from, size_t bytes)
{
	if (UNLIKELY(bytes > text_room(text))) {
		text->overflowed = true;
		return;
	}
	memcpy(text->bytes + text->used, from, bytes);
	text->used += bytes;
}

/* A literal: its length is known when it is compiled. */
#define text_put_literal(text, literal) text_put_bytes((text), "" literal, sizeof(literal) - 1)

static inline void text_put(struct text *text, const char *string)
{
	text_put_bytes(text, string, strlen(string));
}

void text_put_u64(struct text *, uint64_t) HIDDEN;
void text_put_i64(struct text *, int64_t) HIDDEN;
void text_put_hex(struct text *, const uint8_t *, size_t bytes) HIDDEN;
void text_put_hex_u64(struct text *, uint64_t) HIDDEN;
/* In quotes, escaped; what is not UTF-8 becomes \ufffd. At most 6 bytes for each of `from`, and
 * 2. */
void text_put_json(struct text *, const char *from, size_t bytes) HIDDEN;
/* The next member of a JSON object: its key, which needs no escapes, or all of it. There is no
 * comma after an opening brace, and one at the beginning of the text. */
void text_put_key(struct text *, const char *key) HIDDEN;
void text_put_key_u64(struct text *, const char *key, uint64_t) HIDDEN;
void text_put_key_string(struct text *, const char *key, const char *) HIDDEN;
/* Ends the text with a NUL (which is not counted); false when anything was left out. */
bool text_end(struct text *) HIDDEN;

/* At load: what the program's standard error is. From then on complaints go there or nowhere. */
void text_note_stderr(void) HIDDEN;
/*
 * One line "wcprof: WHAT DETAIL" on standard error, if descriptor 2 still is what was noted. Else
 * it may be the program's data. Never waits and brings no signal. Known race: the program puts
 * another file there between the look and the write.
 */
void text_complain(const char *what, const char *detail) HIDDEN;

/* Reads an unsigned number in decimal; false when it is anything else or too large. */
bool text_parse_u64(const char *, size_t bytes, uint64_t *) HIDDEN;

#endif
