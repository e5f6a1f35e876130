/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for a terminal and for JSON. See visible.h.
 *
 * One thread: the texts are in a few buffers that take turns.
 */
#include "visible.h"

#include <assert.h>
#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { TEXTS = 8, TEXT_BYTES = 8192, ESCAPE_BYTES_MAX = 8, INVALID = UINT32_MAX };

enum form { FORM_TEXT, FORM_JSON, FORM_OBJECT };

/* The character at `from`, which is not its end, and of how many bytes it is. */
static uint32_t next(const char *from, size_t *bytes)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *at = (const unsigned char *)from;
	size_t more = at[0] >= 0xf0 ? 3 : at[0] >= 0xe0 ? 2 : 1;
	uint32_t character;

	*bytes = 1;
	if (at[0] < 0x80)
		return at[0];
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return INVALID;
	character = at[0] & (0x3fu >> more);
	for (size_t i = 1; i <= more; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return INVALID;
		character = character << 6 | (at[i] & 0x3f);
	}
	if (character < least[more] || character > 0x10ffff ||
	    (character >= 0xd800 && character <= 0xdfff))
		return INVALID;
	*bytes = more + 1;
	return character;
}

static bool is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0);
}

/* Ends of lines and paragraphs, marks and overrides of the direction of writing. */
static bool is_layout(uint32_t character)
{
	return character == 0x61c || character == 0x200e || character == 0x200f ||
	       (character >= 0x2028 && character <= 0x202e) ||
	       (character >= 0x2066 && character <= 0x2069);
}

/* Room for ESCAPE_BYTES_MAX; the number of bytes. */
static size_t put(char *to, const char *from, size_t bytes, uint32_t character, enum form form)
{
	if (character == INVALID)
		return (size_t)sprintf(to, "%s", form == FORM_TEXT ? "\xef\xbf\xbd" : "\\ufffd");
	if (is_control(character) && form == FORM_TEXT)
		return (size_t)sprintf(to, "\\x%02x", (unsigned)character);
	if (is_control(character) || is_layout(character))
		return (size_t)sprintf(to, "\\u%04x", (unsigned)character);
	if (form == FORM_JSON && (character == '"' || character == '\\'))
		return (size_t)sprintf(to, "\\%c", (int)character);
	memcpy(to, from, bytes);
	return bytes;
}

static const char *make(const char *text, enum form form)
{
	static char texts[TEXTS][TEXT_BYTES];
	static unsigned turn;
	char *to = texts[turn++ % TEXTS];
	size_t used = 0, bytes;

	if (form == FORM_JSON)
		to[used++] = '"';
	for (; *text && used < TEXT_BYTES - ESCAPE_BYTES_MAX - 2; text += bytes) {
		uint32_t character = next(text, &bytes);

		used += put(to + used, text, bytes, character, form);
	}
	if (form == FORM_JSON)
		to[used++] = '"';
	to[used] = '\0';
	return to;
}

static void print(FILE *stream, const char *text, enum form form)
{
	char piece[ESCAPE_BYTES_MAX];
	size_t bytes;

	for (; *text; text += bytes) {
		uint32_t character = next(text, &bytes);

		fwrite(piece, 1, put(piece, text, bytes, character, form), stream);
	}
	fputc('\n', stream);
}

const char *visible(const char *text)
{
	return make(text, FORM_TEXT);
}

const char *visible_json(const char *text)
{
	return make(text, FORM_JSON);
}

void visible_vputs(FILE *stream, const char *format, va_list arguments)
{
	char *text = NULL;

	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	print(stream, text ? text : "out of memory", FORM_TEXT);
	free(text);
}

void visible_puts_object(const char *object)
{
	print(stdout, object, FORM_OBJECT);
}

/* --- columns --- */

/* Widths are the same in all locales: those of the user's may know ASCII only. */
static size_t width_of(uint32_t character)
{
	static locale_t widths;
	locale_t before;
	int columns;

	if (character < 0x80 || character == INVALID)
		return 1;
	if (!widths)
		widths = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (!widths)
		return 1;
	before = uselocale(widths);
	columns = wcwidth((wchar_t)character);
	(void)uselocale(before);
	return columns < 0 ? 1 : (size_t)columns;
}

size_t visible_columns(const char *text)
{
	size_t columns = 0, bytes;

	for (; *text; text += bytes)
		columns += width_of(next(text, &bytes));
	return columns;
}

size_t visible_bytes_in(const char *text, size_t columns)
{
	size_t at = 0, bytes;

	for (; text[at]; at += bytes) {
		size_t width = width_of(next(text + at, &bytes));

		if (width > columns)
			break;
		columns -= width;
	}
	return at;
}

char *visible_fit(const char *text, size_t columns, char *to, size_t size)
{
	size_t at = 0, left = columns, bytes;

	assert(size > columns);
	for (; text[at]; at += bytes) {
		size_t width = width_of(next(text + at, &bytes));

		if (width > left || at + bytes + (left - width) >= size)
			break;
		left -= width;
	}
	memcpy(to, text, at);
	memset(to + at, ' ', left);
	to[at + left] = '\0';
	return to;
}
