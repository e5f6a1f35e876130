/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text into a buffer of the caller's. See text.h.
 *
 * Numbers are written two digits at a time: the dump consists of little else. Complaints alone
 * leave the buffer.
 */
#include "text.h"

#include <assert.h>
#include <unistd.h>

#include "gate.h"
#include "held.h"
#include "spare.h"
#include "syscalls.h"

#include "in_target.h"

enum { U64_DIGITS_MAX = 20 };

static const char digit_pairs[201] = "0001020304050607080910111213141516171819"
				     "2021222324252627282930313233343536373839"
				     "4041424344454647484950515253545556575859"
				     "6061626364656667686970717273747576777879"
				     "8081828384858687888990919293949596979899";
static const char hex_digits[17] = "0123456789abcdef";

void text_put_u64(struct text *text, uint64_t value)
{
	char digits[U64_DIGITS_MAX];
	char *first = digits + U64_DIGITS_MAX;

	while (value >= 100) {
		uint64_t rest = value / 100;

		first -= 2;
		memcpy(first, digit_pairs + 2 * (value - 100 * rest), 2);
		value = rest;
	}
	if (value >= 10) {
		first -= 2;
		memcpy(first, digit_pairs + 2 * value, 2);
	} else {
		*--first = (char)('0' + value);
	}
	text_put_bytes(text, first, (size_t)(digits + U64_DIGITS_MAX - first));
}

void text_put_i64(struct text *text, int64_t value)
{
	if (value < 0)
		text_put_literal(text, "-");
	text_put_u64(text, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void text_put_hex(struct text *text, const uint8_t *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		char pair[2] = { hex_digits[from[i] >> 4], hex_digits[from[i] & 15] };

		text_put_bytes(text, pair, 2);
	}
}

void text_put_hex_u64(struct text *text, uint64_t value)
{
	int shift = 60;

	while (shift > 0 && value >> shift == 0)
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		text_put_bytes(text, &hex_digits[value >> shift & 15], 1);
}

/* Length of the UTF-8 sequence at `from`, 0 when it is not one (also: surrogates, overlong
 * forms). */
static size_t utf8_length(const unsigned char *from, size_t bytes)
{
	static const struct {
		unsigned char first_least, first_most, second_least, second_most;
		unsigned char length;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (from[0] < forms[i].first_least || from[0] > forms[i].first_most)
			continue;
		if (bytes < forms[i].length || from[1] < forms[i].second_least ||
		    from[1] > forms[i].second_most)
			return 0;
		for (size_t k = 2; k < forms[i].length; k++)
			if ((from[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].length;
	}
	return 0;
}

static void put_json_special(struct text *text, unsigned char c)
{
	char escape[7] = { '\\', 'u', '0', '0', hex_digits[c >> 4], hex_digits[c & 15] };

	if (c >= 0x80)
		text_put_literal(text, "\\ufffd");
	else if (c == '"' || c == '\\')
		text_put_bytes(text, c == '"' ? "\\\"" : "\\\\", 2);
	else
		text_put_bytes(text, escape, 6);
}

void text_put_json(struct text *text, const char *from, size_t bytes)
{
	const unsigned char *at = (const unsigned char *)from;
	const unsigned char *end = at + bytes;

	text_put_literal(text, "\"");
	while (at < end) {
		const unsigned char *plain = at;
		size_t length;

		while (at < end && *at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\')
			at++;
		text_put_bytes(text, (const char *)plain, (size_t)(at - plain));
		if (at == end)
			break;
		length = *at >= 0x80 ? utf8_length(at, (size_t)(end - at)) : 0;
		if (length)
			text_put_bytes(text, (const char *)at, length);
		else
			put_json_special(text, *at);
		at += length ? length : 1;
	}
	text_put_literal(text, "\"");
}

void text_put_key(struct text *text, const char *key)
{
	if (text->used == 0 || text->bytes[text->used - 1] != '{')
		text_put_literal(text, ",");
	text_put_literal(text, "\"");
	text_put(text, key);
	text_put_literal(text, "\":");
}

void text_put_key_u64(struct text *text, const char *key, uint64_t value)
{
	text_put_key(text, key);
	text_put_u64(text, value);
}

void text_put_key_string(struct text *text, const char *key, const char *value)
{
	text_put_key(text, key);
	text_put_json(text, value, strlen(value));
}

bool text_end(struct text *text)
{
	assert(text->size > 0 && text->used <= text->size);
	if (text->used == text->size) {
		text->overflowed = true;
		text->used -= text->size > 0;
	}
	if (text->size > 0)
		text->bytes[text->used] = '\0';
	return !text->overflowed;
}

/* Of descriptor 2 at load. Written once, by the constructor. The command notes nothing: its
 * standard error is its own. */
static struct {
	bool is_noted;
	bool was_open;
	dev_t device;
	ino_t inode;
	dev_t special; /* which terminal, say */
} standard_error;

void text_note_stderr(void)
{
	struct stat stat;

	standard_error.is_noted = true;
	standard_error.was_open = sys_fstat(STDERR_FILENO, &stat) == 0;
	if (!standard_error.was_open)
		return;
	standard_error.device = stat.st_dev;
	standard_error.inode = stat.st_ino;
	standard_error.special = stat.st_rdev;
}

static bool is_standard_error(void)
{
	struct stat stat;

	if (!standard_error.is_noted)
		return true;
	return standard_error.was_open && sys_fstat(STDERR_FILENO, &stat) == 0 &&
	       stat.st_dev == standard_error.device && stat.st_ino == standard_error.inode &&
	       stat.st_rdev == standard_error.special;
}

/* A line fits whenever there is any room: a pipe is writable only with room for PIPE_BUF bytes. */
static void write_line(const char *line, size_t bytes)
{
	struct pollfd poll = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct held_signals held;

	if (sys_poll(&poll, 1, 0) != 1 || !(poll.revents & POLLOUT))
		return;
	held_begin(&held);
	(void)sys_write(STDERR_FILENO, line, bytes);
	held_end(&held);
}

struct complaint {
	const char *what;
	const char *detail;
};

static void complain(void *argument)
{
	const struct complaint *complaint = argument;
	char line[512];
	struct text text = { .bytes = line, .size = sizeof(line) - 1 };

	text_put_literal(&text, "wcprof: ");
	text_put(&text, complaint->what);
	text_put_literal(&text, " ");
	text_put(&text, complaint->detail);
	line[text.used++] = '\n';
	write_line(line, text.used);
}

void text_complain(const char *what, const char *detail)
{
	struct complaint complaint = { what, detail };

	if (!gate_is_confined() && is_standard_error())
		spare_call_surely(complain, &complaint);
}

bool text_parse_u64(const char *from, size_t bytes, uint64_t *out)
{
	uint64_t value = 0;

	if (bytes == 0)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		unsigned digit = (unsigned char)from[i] - (unsigned)'0';

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return true;
}
