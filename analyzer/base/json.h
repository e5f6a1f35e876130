/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pull tokenizer for JSON on one line: the caller asks for what it expects, nothing is built.
 *
 * The text is in memory and is neither copied nor changed. It ends at the first '\n', or at `end`,
 * where a '\n' or a NUL must stand. JSON_PADDING_BYTES readable bytes must follow. So eight bytes
 * can be scanned at once without bounds, and a line that is cut off stops at its end. Neither byte
 * can be part of JSON on one line: a NUL before the end is a stray byte like any other.
 *
 * Every function leaves `at` behind what it took. On an error it returns false, `error` says what
 * is wrong and `at` is where. The frequent part is inline here, the rare part is in json.c.
 *
 * The grammar is taken strictly. Bytes that are not UTF-8, lone surrogates and NULs inside strings
 * become U+FFFD instead of an error.
 */
#ifndef WCPROF_JSON_H
#define WCPROF_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	JSON_PADDING_BYTES = 32,
	JSON_DEPTH_MAX = 64 /* of what json_skip() passes over: one bit each */
};

struct json {
	const char *at;
	const char *end;
	const char *error; /* NULL, or static text */
};

/* The text between the quotes. */
struct json_text {
	const char *bytes;
	size_t length;
	bool is_plain; /* ASCII without escapes: the bytes are the value */
};

static inline struct json json_begin(const char *text, const char *end)
{
	return (struct json){ .at = text, .end = end };
}

bool json_fail(struct json *json, const char *error);

/* So that "cut off" can be told from "wrong". */
static inline bool json_is_at_end(const struct json *json)
{
	return *json->at == '\n' || json->at >= json->end;
}

static inline void json_space(struct json *json)
{
	while (*json->at == ' ' || *json->at == '\t' || *json->at == '\r')
		json->at++;
}

/* Takes this punctuation and the space before and after it. */
static inline bool json_take(struct json *json, char punctuation)
{
	json_space(json);
	if (*json->at != punctuation)
		return false;
	json->at++;
	json_space(json);
	return true;
}

#define JSON_EACH_BYTE(value) (0x0101010101010101u * (value))

static inline uint64_t json_load(const char *at)
{
	uint64_t bytes;

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "first byte lowest");
	memcpy(&bytes, at, sizeof(bytes));
	return bytes;
}

/*
 * Marks the bytes that end a plain run in a string: quote, backslash, control, not ASCII. The first
 * one's high bit is the lowest that is set; later ones may be wrong. 0: all eight are plain.
 */
static inline uint64_t json_specials(uint64_t bytes)
{
	uint64_t quote = bytes ^ JSON_EACH_BYTE('"');
	uint64_t backslash = bytes ^ JSON_EACH_BYTE('\\');

	return ((quote - JSON_EACH_BYTE(1)) | (backslash - JSON_EACH_BYTE(1)) |
		(bytes - JSON_EACH_BYTE(' ')) | bytes) &
	       JSON_EACH_BYTE(0x80);
}

bool json_take_string_rest(struct json *json, struct json_text *text, const char *from);

/* A string; `at` must be at its opening quote or wherever something else than a string begins. */
static inline bool json_take_string(struct json *json, struct json_text *text)
{
	const char *from = json->at + 1;
	uint64_t specials;

	if (*json->at != '"')
		return json_fail(json, "expected a string");
	while (!(specials = json_specials(json_load(from))))
		from += 8;
	from += __builtin_ctzll(specials) / 8;
	if (*from != '"')
		return json_take_string_rest(json, text, from);
	*text = (struct json_text){ json->at + 1, (size_t)(from - json->at - 1), true };
	json->at = from + 1;
	return true;
}

/* The next member's name, `at` then at its value; false at the object's end or an error. */
static inline bool json_member(struct json *json, bool *is_first, struct json_text *name)
{
	json_space(json);
	if (*json->at == '}') {
		json->at++;
		return false;
	}
	if (!*is_first && !json_take(json, ','))
		return json_fail(json, "expected , or }");
	*is_first = false;
	if (*json->at != '"')
		return json_fail(json, "expected a name in quotes");
	if (!json_take_string(json, name))
		return false;
	if (!json_take(json, ':'))
		return json_fail(json, "expected : after a name");
	return true;
}

/* `at` at the next element; false at the array's end or an error. */
static inline bool json_element(struct json *json, bool *is_first)
{
	json_space(json);
	if (*json->at == ']') {
		json->at++;
		return false;
	}
	if (!*is_first && !json_take(json, ','))
		return json_fail(json, "expected , or ]");
	*is_first = false;
	return true;
}

/* Takes an opening bracket; members or elements follow. */
bool json_open_object(struct json *json);
bool json_open_array(struct json *json);

bool json_take_uint_rest(struct json *json, uint64_t *value);

static inline unsigned json_digit_count(uint64_t bytes)
{
	uint64_t others = ((bytes + JSON_EACH_BYTE(0x46)) | (bytes - JSON_EACH_BYTE('0'))) &
			  JSON_EACH_BYTE(0x80);

	return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* The value of the first `count` (1 to 8) digits: pairs, then fours, then eight. */
static inline uint64_t json_digits(uint64_t bytes, unsigned count)
{
	bytes = (bytes - JSON_EACH_BYTE('0')) << (64 - 8 * count);
	bytes = (bytes * 10 + (bytes >> 8)) & 0x00ff00ff00ff00ffu;
	bytes = (bytes * 100 + (bytes >> 16)) & 0x0000ffff0000ffffu;
	return (bytes * 10000 + (bytes >> 32)) & 0xffffffffu;
}

static inline bool json_is_at_digit(const struct json *json)
{
	return (unsigned char)(*json->at - '0') < 10;
}

/* A whole number from 0 to UINT64_MAX, however it is written. */
static inline __attribute__((always_inline)) bool json_take_uint(struct json *json, uint64_t *value)
{
	static const uint32_t powers[9] = { 1,      10,      100,      1000,     10000,
					    100000, 1000000, 10000000, 100000000 };
	const char *at = json->at;
	uint64_t bytes = json_load(at);
	unsigned count = json_digit_count(bytes);
	uint64_t number;

	if (count == 0 || *at == '0')
		return json_take_uint_rest(json, value);
	number = json_digits(bytes, count);
	at += count;
	if (count == 8) {
		bytes = json_load(at);
		count = json_digit_count(bytes);
		if (count == 8)
			return json_take_uint_rest(json, value);
		if (count > 0)
			number = number * powers[count] + json_digits(bytes, count);
		at += count;
	}
	if (*at == '.' || *at == 'e' || *at == 'E')
		return json_take_uint_rest(json, value);
	*value = number;
	json->at = at;
	return true;
}

/* A whole number that may be negative. */
bool json_take_int(struct json *json, int64_t *value);

/* Passes over one value of any type, checked like everything else. */
bool json_skip(struct json *json);

/* The end of the line: only space may follow. */
bool json_finish(struct json *json);

/*
 * The text's value as UTF-8 without NULs, not terminated; returns its length, at most
 * JSON_DECODED_BYTES of the text's.
 */
#define JSON_DECODED_BYTES(length) ((length)*3)
size_t json_decode(const struct json_text *text, char *to);

#endif
