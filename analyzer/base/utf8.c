/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Characters and their widths in columns.
 *
 * Widths come from wcwidth, so they follow the locale that main() has set. Characters that it does
 * not know count as one column. Any thread.
 */
#include "utf8.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "memory.h"

uint32_t utf8_next(const char *text, size_t *length)
{
	const unsigned char *bytes = (const unsigned char *)text;
	assert(bytes[0] != 0);
	*length = 1;
	if (bytes[0] < 0x80)
		return bytes[0];
	size_t more = bytes[0] >= 0xF0 ? 3 : bytes[0] >= 0xE0 ? 2 : 1;
	if (bytes[0] < 0xC2 || bytes[0] > 0xF4)
		return UTF8_INVALID;
	uint32_t character = bytes[0] & (0x3Fu >> more);
	for (size_t i = 1; i <= more; i++) {
		if ((bytes[i] & 0xC0) != 0x80)
			return UTF8_INVALID;
		character = (character << 6) | (bytes[i] & 0x3F);
	}
	static const uint32_t smallest[] = { 0, 0x80, 0x800, 0x10000 };
	if (character < smallest[more] || character > 0x10FFFF ||
	    (character >= 0xD800 && character <= 0xDFFF))
		return UTF8_INVALID;
	*length = more + 1;
	return character;
}

static size_t character_columns(uint32_t character)
{
	int columns = wcwidth((wchar_t)character);
	return columns < 0 ? 1 : (size_t)columns;
}

size_t utf8_columns(const char *text)
{
	size_t columns = 0, length;
	for (; *text; text += length)
		columns += character_columns(utf8_next(text, &length));
	return columns;
}

size_t utf8_bytes_in(const char *text, size_t columns)
{
	size_t bytes = 0, length;
	while (text[bytes]) {
		size_t width = character_columns(utf8_next(text + bytes, &length));
		if (width > columns)
			break;
		columns -= width;
		bytes += length;
	}
	return bytes;
}

char *utf8_shorten(const char *text, size_t columns)
{
	size_t bytes = strlen(text), total = utf8_columns(text);
	char *result = memory_new(bytes + 3, 1);
	if (total <= columns) {
		memcpy(result, text, bytes);
		return result;
	}
	size_t kept = columns > 2 ? columns - 2 : 0;
	size_t head = utf8_bytes_in(text, kept - kept / 2);
	size_t tail = utf8_bytes_in(text, total - kept / 2);
	/* A wide character on the seam can make the tail one column too wide. */
	if (text[tail] && utf8_columns(text + tail) > kept / 2) {
		size_t length;
		utf8_next(text + tail, &length);
		tail += length;
	}
	memcpy(result, text, head);
	memcpy(result + head, "..", columns < 2 ? columns : 2);
	strcat(result, text + tail);
	return result;
}

/* Ends of lines and paragraphs, marks and overrides of the direction of writing. */
static bool is_layout(uint32_t character)
{
	return character == 0x61C || character == 0x200E || character == 0x200F ||
	       (character >= 0x2028 && character <= 0x202E) ||
	       (character >= 0x2066 && character <= 0x2069);
}

char *utf8_printable(const char *text)
{
	char *result = memory_new(4 * strlen(text) + 1, 1), *to = result;
	for (size_t length; *text; text += length) {
		uint32_t character = utf8_next(text, &length);
		bool is_control = character < 0x20 || (character >= 0x7F && character < 0xA0);
		if (is_control) {
			to += sprintf(to, "\\x%02x", (unsigned)character);
		} else if (is_layout(character)) {
			to += sprintf(to, "\\u%04x", (unsigned)character);
		} else if (character == UTF8_INVALID) {
			to += sprintf(to, "\xEF\xBF\xBD");
		} else {
			memcpy(to, text, length);
			to += length;
		}
	}
	return result;
}
