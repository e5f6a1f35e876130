/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rare half of the tokenizer: escapes, odd numbers, literals, values nobody asked for, UTF-8.
 *
 * Text comes from outside: every byte is looked at before it is stepped over, and the byte at `end`
 * never is part of anything. No recursion: json_skip() keeps one bit per level. No allocation.
 */
#include "json.h"

#include <assert.h>

enum { REPLACEMENT = 0xfffd };

bool json_fail(struct json *json, const char *error)
{
	assert(error);
	if (!json->error)
		json->error = error;
	return false;
}

static int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

/* The bytes of the escape at this backslash, 0 if it is none; `digits_end` is where it went wrong.
 */
static size_t escape_bytes(const char *at, const char **wrong)
{
	*wrong = at + 1;
	switch (at[1]) {
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return 2;
	case 'u':
		for (*wrong = at + 2; *wrong < at + 6; ++*wrong)
			if (hex_value(**wrong) < 0)
				return 0;
		return 6;
	default:
		return 0;
	}
}

/* The rest of a string whose first unusual byte is at `from`. */
bool json_take_string_rest(struct json *json, struct json_text *text, const char *from)
{
	const char *wrong;
	size_t bytes;

	while (*from != '"') {
		if ((unsigned char)*from < ' ') {
			json->at = from;
			return json_fail(json, json_is_at_end(json)
						       ? "the line ends inside a string"
						       : "a control character in a string");
		}
		bytes = *from == '\\' ? escape_bytes(from, &wrong) : 1;
		if (bytes == 0) {
			json->at = wrong;
			return json_fail(json, "an unknown escape in a string");
		}
		from += bytes;
	}
	*text = (struct json_text){ json->at + 1, (size_t)(from - json->at - 1), false };
	json->at = from + 1;
	return true;
}

bool json_open_object(struct json *json)
{
	return json_take(json, '{') || json_fail(json, "expected an object");
}

bool json_open_array(struct json *json)
{
	return json_take(json, '[') || json_fail(json, "expected an array");
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Whether nothing but JSON's punctuation or space follows, as after a literal or number. */
static bool is_delimited(const struct json *json)
{
	switch (*json->at) {
	case ',':
	case ']':
	case '}':
	case ':':
	case ' ':
	case '\t':
	case '\r':
	case '\n':
	case '\0':
		return true;
	default:
		return false;
	}
}

/* A number's parts as they stand in the text; exponent saturates far outside of any sensible value.
 */
struct number {
	const char *digits;
	const char *whole_end;
	const char *fraction;
	const char *fraction_end;
	bool is_negative;
	int exponent;
};

enum { EXPONENT_MAX = 1000000 };

static const char *after_digits(const char *at)
{
	while (is_digit(*at))
		at++;
	return at;
}

static bool take_exponent(struct json *json, struct number *number)
{
	bool is_negative = json->at[1] == '-';
	const char *at = json->at + 1 + (json->at[1] == '-' || json->at[1] == '+');

	json->at = at;
	if (!is_digit(*at))
		return json_fail(json, "a number without digits in its exponent");
	for (; is_digit(*json->at); json->at++)
		if (number->exponent < EXPONENT_MAX)
			number->exponent = number->exponent * 10 + (*json->at - '0');
	if (is_negative)
		number->exponent = -number->exponent;
	return true;
}

static bool take_number(struct json *json, struct number *number)
{
	*number = (struct number){ .is_negative = *json->at == '-' };
	number->digits = json->at + number->is_negative;
	json->at = after_digits(number->digits);
	number->whole_end = number->fraction = number->fraction_end = json->at;
	if (number->whole_end == number->digits)
		return json_fail(json, "expected a number");
	if (*number->digits == '0' && number->whole_end > number->digits + 1)
		return json_fail(json, "a number with zeros in front");
	if (*json->at == '.') {
		number->fraction = json->at + 1;
		json->at = number->fraction_end = after_digits(number->fraction);
		if (number->fraction == number->fraction_end)
			return json_fail(json, "a number without digits after its point");
	}
	if ((*json->at == 'e' || *json->at == 'E') && !take_exponent(json, number))
		return false;
	return is_delimited(json) || json_fail(json, "a number with something else attached to it");
}

static bool append_digit(uint64_t *value, unsigned digit)
{
	return !__builtin_mul_overflow(*value, 10u, value) &&
	       !__builtin_add_overflow(*value, digit, value);
}

/* The magnitude, when it is whole: all digits before the point that the exponent moves, zeros after
 * it. */
static const char *number_magnitude(const struct number *number, uint64_t *value)
{
	int point = number->exponent;
	const char *at;

	*value = 0;
	for (at = number->digits; at < number->fraction_end; at++) {
		if (at == number->whole_end)
			continue; /* the point itself */
		if (at > number->whole_end)
			point--;
		if (!append_digit(value, (unsigned)(*at - '0')))
			return "a number too large";
	}
	for (; point > 0 && *value != 0; point--)
		if (!append_digit(value, 0))
			return "a number too large";
	for (; point < 0 && *value != 0; point++) {
		if (*value % 10 != 0)
			return "a number that is not whole";
		*value /= 10;
	}
	return NULL;
}

bool json_take_uint_rest(struct json *json, uint64_t *value)
{
	const char *begin = json->at;
	struct number number;
	const char *error;

	if (!take_number(json, &number))
		return false;
	error = number_magnitude(&number, value);
	if (!error && number.is_negative && *value != 0)
		error = "a negative number where none can be";
	if (!error)
		return true;
	json->at = begin;
	return json_fail(json, error);
}

bool json_take_int(struct json *json, int64_t *value)
{
	const char *begin = json->at;
	struct number number;
	uint64_t magnitude;
	const char *error;

	if (!take_number(json, &number))
		return false;
	error = number_magnitude(&number, &magnitude);
	if (!error && magnitude > INT64_MAX)
		error = "a number too large";
	if (error) {
		json->at = begin;
		return json_fail(json, error);
	}
	*value = number.is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return true;
}

static bool take_literal(struct json *json, const char *literal)
{
	const char *begin = json->at;

	for (; *literal; literal++, json->at++)
		if (*json->at != *literal)
			break;
	if (!*literal && is_delimited(json))
		return true;
	if (!json_is_at_end(json))
		json->at = begin;
	return json_fail(json, "expected a value");
}

/* The open brackets around the point where json_skip() is; the innermost in the lowest bit. */
struct nesting {
	uint64_t objects;
	unsigned depth;
};

static bool skip_open(struct json *json, struct nesting *nesting)
{
	if (nesting->depth == JSON_DEPTH_MAX)
		return json_fail(json, "nested too deeply");
	nesting->objects = nesting->objects << 1 | (*json->at == '{');
	nesting->depth++;
	json->at++;
	return true;
}

/* One value, or the opening bracket of one. */
static bool skip_token(struct json *json, struct nesting *nesting)
{
	struct json_text text;
	struct number number;

	switch (*json->at) {
	case '{':
	case '[':
		return skip_open(json, nesting);
	case '"':
		return json_take_string(json, &text);
	case 't':
		return take_literal(json, "true");
	case 'f':
		return take_literal(json, "false");
	case 'n':
		return take_literal(json, "null");
	case '-':
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
	case '7':
	case '8':
	case '9':
		return take_number(json, &number);
	default:
		return json_fail(json, "expected a value");
	}
}

/* Closes what ends here, and takes the comma if another value follows. */
static bool skip_separators(struct json *json, struct nesting *nesting, bool is_first)
{
	while (nesting->depth > 0) {
		bool in_object = nesting->objects & 1;

		json_space(json);
		if (*json->at == (in_object ? '}' : ']')) {
			json->at++;
			nesting->objects >>= 1;
			nesting->depth--;
			is_first = false;
			continue;
		}
		if (is_first || json_take(json, ','))
			return true;
		return json_fail(json, in_object ? "expected , or }" : "expected , or ]");
	}
	return true;
}

static bool skip_name(struct json *json)
{
	struct json_text name;

	if (*json->at != '"')
		return json_fail(json, "expected a name in quotes");
	if (!json_take_string(json, &name))
		return false;
	return json_take(json, ':') || json_fail(json, "expected : after a name");
}

bool json_skip(struct json *json)
{
	struct nesting nesting = { 0 };
	unsigned depth;

	do {
		if (nesting.depth > 0 && (nesting.objects & 1) && !skip_name(json))
			return false;
		depth = nesting.depth;
		if (!skip_token(json, &nesting) ||
		    !skip_separators(json, &nesting, nesting.depth > depth))
			return false;
	} while (nesting.depth > 0);
	return true;
}

bool json_finish(struct json *json)
{
	json_space(json);
	if (json_is_at_end(json))
		return true;
	return json_fail(json, "something after the end of the object");
}

/* The length of the valid UTF-8 sequence at `at`, 0 if there is none before `end`. */
static size_t utf8_bytes(const unsigned char *at, size_t room)
{
	size_t length = at[0] < 0xc2   ? 0
			: at[0] < 0xe0 ? 2
			: at[0] < 0xf0 ? 3
			: at[0] < 0xf5 ? 4
				       : 0;
	size_t i;

	if (at[0] < 0x80)
		return at[0] != 0;
	if (length == 0 || length > room)
		return 0;
	for (i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((at[0] == 0xe0 && at[1] < 0xa0) ||
	    (at[0] == 0xed && at[1] > 0x9f) || /* too long; surrogates */
	    (at[0] == 0xf0 && at[1] < 0x90) ||
	    (at[0] == 0xf4 && at[1] > 0x8f)) /* too long; too large */
		return 0;
	return length;
}

static char *put_code_point(char *to, uint32_t code)
{
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

static uint32_t hex_unit(const char *at)
{
	uint32_t unit = 0;
	size_t i;

	for (i = 2; i < 6; i++)
		unit = unit << 4 | (uint32_t)hex_value(at[i]);
	return unit;
}

/* The code point of the \u escape, or pair of them, at `*at`; a half of a pair alone is replaced.
 */
static uint32_t unicode_escape(const char **at, const char *end)
{
	uint32_t unit = hex_unit(*at);
	uint32_t low;

	*at += 6;
	if (unit < 0xd800 || unit > 0xdfff)
		return unit == 0 ? REPLACEMENT : unit;
	if (unit > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
		return REPLACEMENT;
	low = hex_unit(*at);
	if (low < 0xdc00 || low > 0xdfff)
		return REPLACEMENT;
	*at += 6;
	return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

static char *put_escape(char *to, const char **at, const char *end)
{
	static const char values[] = { ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
				       ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t' };
	char letter = (*at)[1];

	if (letter == 'u')
		return put_code_point(to, unicode_escape(at, end));
	assert((size_t)letter < sizeof(values) && values[(size_t)letter]);
	*to = values[(size_t)letter];
	*at += 2;
	return to + 1;
}

size_t json_decode(const struct json_text *text, char *to)
{
	const char *at = text->bytes;
	const char *end = at + text->length;
	char *begin = to;

	while (at < end) {
		size_t length =
			*at == '\\' ? 0 : utf8_bytes((const unsigned char *)at, (size_t)(end - at));

		if (*at == '\\') {
			to = put_escape(to, &at, end);
		} else if (length == 0) {
			to = put_code_point(to, REPLACEMENT);
			at++;
		} else {
			memcpy(to, at, length);
			to += length;
			at += length;
		}
	}
	assert((size_t)(to - begin) <= JSON_DECODED_BYTES(text->length));
	return (size_t)(to - begin);
}
