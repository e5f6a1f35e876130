/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to redis and memcached: the command, and nothing of what follows it. See peek.h.
 */
#include "peek.h"

#include "in_target.h"

/* --- redis: an array of strings, each with its length, of which the first is the command --- */

enum { COMMAND_BYTES_MAX = 24, DIGITS_MAX = 7 };

/* The number up to the end of its line; the position after it, 0: it is none, or goes on. */
static size_t number_at(const struct peeked *read, size_t at, uint32_t *number, bool *goes_on)
{
	size_t from = at;

	*number = 0;
	while (at < read->count && at - from < DIGITS_MAX && peek_is_digit(read->bytes[at]))
		*number = 10 * *number + (uint32_t)(read->bytes[at++] - '0');
	*goes_on = at + 2 > read->count;
	if (*goes_on || at == from || read->bytes[at] != '\r' || read->bytes[at + 1] != '\n')
		return 0;
	return at + 2;
}

static void put_upper(struct text *to, uint8_t byte)
{
	char upper = (char)(byte >= 'a' && byte <= 'z' ? byte - 0x20 : byte);

	text_put_bytes(to, &upper, 1);
}

enum peek_result peek_redis(const struct peeked *read, struct text *to)
{
	uint32_t strings, bytes;
	bool goes_on;
	size_t at;

	if (peek_begins(read, "PING\r\n") == PEEK_KNOWN) {
		text_put_literal(to, "PING");
		return PEEK_KNOWN;
	}
	if (read->bytes[0] != '*')
		return PEEK_UNKNOWN;
	at = number_at(read, 1, &strings, &goes_on);
	if (at == 0 || at == read->count)
		return goes_on || at > 0 ? PEEK_MORE : PEEK_UNKNOWN;
	if (strings == 0 || read->bytes[at] != '$')
		return PEEK_UNKNOWN;
	at = number_at(read, at + 1, &bytes, &goes_on);
	if (at == 0)
		return goes_on ? PEEK_MORE : PEEK_UNKNOWN;
	if (bytes == 0 || bytes > COMMAND_BYTES_MAX)
		return PEEK_UNKNOWN;
	if (bytes > read->count - at)
		return PEEK_MORE;
	for (size_t i = 0; i < bytes; i++) {
		uint8_t byte = read->bytes[at + i];

		if (!peek_is_letter(byte) &&
		    (i == 0 || (byte != '.' && byte != '_' && byte != '-')))
			return PEEK_UNKNOWN;
		put_upper(to, byte);
	}
	return PEEK_KNOWN;
}

/* Of an array of strings: up to the end of the last one, whose length must be there. */
uint64_t peek_redis_bytes(const struct peeked *read)
{
	uint32_t strings, bytes;
	bool goes_on;
	size_t at = number_at(read, 1, &strings, &goes_on);

	if (at == 0 || strings == 0)
		return 0;
	for (;;) {
		if (at >= read->count || read->bytes[at] != '$')
			return 0;
		at = number_at(read, at + 1, &bytes, &goes_on);
		if (at == 0)
			return 0;
		at += bytes + 2;
		if (--strings == 0)
			return at;
	}
}

/* --- memcached: a line that begins with a word, or a header with a number --- */

static const char words[][12] = {
	"get", "gets", "gat",   "gats",      "set",     "add",       "replace", "append", "prepend",
	"cas", "incr", "decr",  "delete",    "touch",   "mg",        "ms",      "md",     "ma",
	"mn",  "me",   "stats", "flush_all", "version", "verbosity", "quit",
};

/* By number. */
static const char opcodes[][12] = {
	"get",    "set",     "add",   "replace", "delete",    "increment", "decrement",
	"quit",   "flush",   "getq",  "noop",    "version",   "getk",      "getkq",
	"append", "prepend", "stat",  "setq",    "addq",      "replaceq",  "deleteq",
	"incrq",  "decrq",   "quitq", "flushq",  "appendq",   "prependq",  "verbosity",
	"touch",  "gat",     "gatq",  "",        "sasl_list", "sasl_auth", "sasl_step",
};

enum { BINARY_REQUEST = 0x80, BINARY_HEADER_BYTES = 24 };

static enum peek_result put_word(struct text *to, const char *word)
{
	text_put(to, word);
	return PEEK_KNOWN;
}

static uint32_t body_bytes_of(const uint8_t *header)
{
	return (uint32_t)header[8] << 24 | (uint32_t)header[9] << 16 | (uint32_t)header[10] << 8 |
	       header[11];
}

static enum peek_result put_binary(const struct peeked *read, struct text *to)
{
	const uint8_t *header = read->bytes;
	uint32_t key_bytes;

	if (read->count < BINARY_HEADER_BYTES)
		return PEEK_MORE;
	key_bytes = (uint32_t)header[2] << 8 | header[3];
	if (header[5] != 0 || header[1] >= sizeof(opcodes) / sizeof(opcodes[0]) ||
	    opcodes[header[1]][0] == '\0' || body_bytes_of(header) < key_bytes + header[4])
		return PEEK_UNKNOWN;
	return put_word(to, opcodes[header[1]]);
}

static bool is_end_of_word(uint8_t byte)
{
	return byte == ' ' || byte == '\r' || byte == '\n';
}

enum peek_result peek_memcached(const struct peeked *read, struct text *to)
{
	enum peek_result found = PEEK_UNKNOWN;

	if (read->bytes[0] == BINARY_REQUEST)
		return put_binary(read, to);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		enum peek_result result = peek_begins(read, words[i]);
		size_t bytes;

		if (LIKELY(result == PEEK_UNKNOWN))
			continue;
		bytes = strlen(words[i]);
		if (result == PEEK_MORE || bytes == read->count)
			found = PEEK_MORE;
		else if (is_end_of_word(read->bytes[bytes]))
			return put_word(to, words[i]);
	}
	return found;
}

/* Of a line, if no block of data follows it; of a header, what it says. */
uint64_t peek_memcached_bytes(const struct peeked *read)
{
	static const char with_data[][12] = { "set ",     "add ", "replace ", "append ",
					      "prepend ", "cas ", "ms " };
	const uint8_t *end = memchr(read->bytes, '\n', read->count);

	if (read->bytes[0] == BINARY_REQUEST)
		return BINARY_HEADER_BYTES + body_bytes_of(read->bytes);
	for (size_t i = 0; i < sizeof(with_data) / sizeof(with_data[0]); i++)
		if (peek_begins(read, with_data[i]) != PEEK_UNKNOWN)
			return 0;
	return end ? (uint64_t)(end - read->bytes) + 1 : 0;
}
