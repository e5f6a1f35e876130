/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of HTTP/1: the method, and the path without what may be somebody's. See peek.h.
 *
 * A path's segments are words, and stay, or anything else, and become a star: numbers, identifiers,
 * what is escaped, what is long. The query is left out. So is a segment that may go on beyond the
 * bytes that are there: its first half may look like a word.
 */
#include "peek.h"

#include "in_target.h"

enum { WORD_BYTES_MAX = 24, EXTENSION_BYTES_MAX = 5, HEX_BYTES_LEAST = 8, VERSION_BYTES_MAX = 3 };

/* With the space that follows. */
static const char methods[][12] = {
	"GET ",   "HEAD ",    "POST ",      "PUT ",    "DELETE ", "OPTIONS ", "PATCH ",
	"TRACE ", "CONNECT ", "PROPFIND ",  "REPORT ", "MKCOL ",  "COPY ",    "MOVE ",
	"LOCK ",  "UNLOCK ",  "PROPPATCH ", "SEARCH ", "PURGE ",
};

static bool is_hexadecimal(uint8_t byte)
{
	return peek_is_digit(byte) || (uint8_t)((byte | 0x20) - 'a') < 6;
}

/* "users", "index.html", "top-ten", but not "deadbeef". */
static bool is_word(const uint8_t *from, size_t bytes)
{
	size_t hexadecimal = 0;

	for (size_t i = 0; i < bytes; i++) {
		if (!peek_is_letter(from[i]) && from[i] != '-' && from[i] != '_' && from[i] != '.')
			return false;
		hexadecimal += is_hexadecimal(from[i]);
	}
	return bytes <= WORD_BYTES_MAX && (hexadecimal < bytes || bytes < HEX_BYTES_LEAST);
}

/* "v1" */
static bool is_version(const uint8_t *from, size_t bytes)
{
	if (bytes < 2 || bytes > VERSION_BYTES_MAX || from[0] != 'v')
		return false;
	return peek_is_digit(from[1]) && (bytes == 2 || peek_is_digit(from[2]));
}

/* Bytes of ".html" at the end; 0: there is none. */
static size_t extension_bytes(const uint8_t *from, size_t bytes)
{
	size_t letters = 0;

	while (letters < bytes && peek_is_letter(from[bytes - 1 - letters]))
		letters++;
	if (letters == 0 || letters > EXTENSION_BYTES_MAX || letters == bytes ||
	    from[bytes - 1 - letters] != '.')
		return 0;
	return letters + 1;
}

static void put_segment(struct text *to, const uint8_t *from, size_t bytes)
{
	size_t kept = bytes;

	if (!is_word(from, bytes) && !is_version(from, bytes)) {
		text_put_literal(to, "*");
		kept = extension_bytes(from, bytes);
	}
	text_put_bytes(to, (const char *)from + bytes - kept, kept);
}

static bool is_in_segment(uint8_t byte)
{
	return byte > ' ' && byte != '/' && byte != '?' && byte != '#' && byte != ';';
}

static void put_path(struct text *to, const uint8_t *at, const uint8_t *end)
{
	while (at < end && *at == '/') {
		const uint8_t *from = ++at;

		text_put_literal(to, "/");
		while (at < end && is_in_segment(*at))
			at++;
		if (at == end)
			text_put_literal(to, "...");
		else
			put_segment(to, from, (size_t)(at - from));
	}
}

/* A path follows the method; or a proxy's whole address, of which nothing is kept. */
static enum peek_result put_target(const struct peeked *read, size_t at, struct text *to)
{
	const uint8_t *from = read->bytes + at;

	if (at == read->count)
		return PEEK_MORE;
	if (*from == '/') {
		put_path(to, from, read->bytes + read->count);
		return PEEK_KNOWN;
	}
	if (*from != '*' && !peek_is_letter(*from) && !peek_is_digit(*from))
		return PEEK_UNKNOWN;
	for (size_t i = 0; at + i < read->count && from[i] > ' '; i++)
		if (from[i] == ':' || from[i] == '*') {
			text_put_literal(to, "*");
			return PEEK_KNOWN;
		}
	return PEEK_UNKNOWN;
}

enum peek_result peek_http(const struct peeked *read, struct text *to)
{
	enum peek_result found = PEEK_UNKNOWN;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		enum peek_result result = peek_begins(read, methods[i]);

		if (result == PEEK_KNOWN) {
			text_put(to, methods[i]);
			return put_target(read, strlen(methods[i]), to);
		}
		if (result == PEEK_MORE)
			found = PEEK_MORE;
	}
	return found;
}
