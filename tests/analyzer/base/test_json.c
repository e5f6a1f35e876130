/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a dump is misread: wrong numbers, wrong names, or damage taken for data. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "dump_text.h"
#include "suite.h"

enum { LINE_BYTES = 4096, GENERATED_LINES = 30000 };

/* A line as the tokenizer wants it: with a newline and padding behind it. */
static struct json begin_line(char line[LINE_BYTES + JSON_PADDING_BYTES], const char *text,
			      size_t length)
{
	memset(line, 'x', LINE_BYTES + JSON_PADDING_BYTES); /* whoever reads on fails */
	memcpy(line, text, length);
	line[length] = '\n';
	return json_begin(line, line + length);
}

static bool is_accepted(const char *text, size_t length)
{
	char line[LINE_BYTES + JSON_PADDING_BYTES];
	struct json json = begin_line(line, text, length);

	json_space(&json);
	return json_skip(&json) && json_finish(&json);
}

static const struct {
	const char *text;
	bool is_good;
	uint64_t value;
	const char *error;
} numbers[] = {
	/*  0 */ { "0", true, 0, NULL },
	/*  1 */ { "7", true, 7, NULL },
	/*  2 */ { "1234567", true, 1234567, NULL },
	/*  3 */ { "12345678", true, 12345678, NULL },
	/*  4 */ { "123456789", true, 123456789, NULL },
	/*  5 */ { "123456789012345", true, 123456789012345, NULL },
	/*  6 */ { "1234567890123456", true, 1234567890123456, NULL },
	/*  7 */ { "12345678901234567", true, 12345678901234567, NULL },
	/*  8 */ { "18446744073709551615", true, UINT64_MAX, NULL },
	/*  9 */ { "18446744073709551616", false, 0, "too large" },
	/* 10 */ { "99999999999999999999999999999999", false, 0, "too large" },
	/* 11 */ { "-1", false, 0, "negative" },
	/* 12 */ { "-0", true, 0, NULL },
	/* 13 */ { "1.7e9", true, 1700000000, NULL },
	/* 14 */ { "17e8", true, 1700000000, NULL },
	/* 15 */ { "1700.0E+3", true, 1700000, NULL },
	/* 16 */ { "1700e-2", true, 17, NULL },
	/* 17 */ { "1700e-3", false, 0, "not whole" },
	/* 18 */ { "0.5", false, 0, "not whole" },
	/* 19 */ { "1e20", false, 0, "too large" },
	/* 20 */ { "1e999999999999", false, 0, "too large" },
	/* 21 */ { "0e999999999999", true, 0, NULL },
	/* 22 */ { "1e-999999999999", false, 0, "not whole" },
	/* 23 */ { "01", false, 0, "zeros in front" },
	/* 24 */ { "1.", false, 0, "after its point" },
	/* 25 */ { "1e", false, 0, "exponent" },
	/* 26 */ { "-", false, 0, "expected a number" },
	/* 27 */ { "+1", false, 0, "expected a number" },
	/* 28 */ { "\"1\"", false, 0, "expected a number" },
	/* 29 */ { "", false, 0, "expected a number" },
	/* 30 */ { "12345678.5e1", true, 123456785, NULL },
	/* 31 */ { "1234567890123456.0", true, 1234567890123456, NULL },
};

START_TEST(number_rows)
{
	char line[LINE_BYTES + JSON_PADDING_BYTES];
	struct json json = begin_line(line, numbers[_i].text, strlen(numbers[_i].text));
	uint64_t value = 99;
	bool is_good = json_take_uint(&json, &value);

	ck_assert_msg(is_good == numbers[_i].is_good, "row %d: %s", _i,
		      json.error ? json.error : "accepted");
	if (is_good) {
		ck_assert_msg(value == numbers[_i].value, "row %d: %" PRIu64, _i, value);
		ck_assert(json_is_at_end(&json));
	} else {
		ck_assert_msg(strstr(json.error, numbers[_i].error), "row %d: %s", _i, json.error);
	}
}
END_TEST

/* The tokenizer has a path of its own for every count of digits. */
START_TEST(numbers_of_every_length)
{
	char line[LINE_BYTES + JSON_PADDING_BYTES], text[32];
	uint64_t value, expected = 0;
	int digits;

	for (digits = 1; digits < 20; digits++) {
		struct json json;

		expected = expected * 10 + (uint64_t)(digits % 9 + 1);
		snprintf(text, sizeof(text), "%" PRIu64 ",", expected);
		json = begin_line(line, text, strlen(text));
		ck_assert(json_take_uint(&json, &value));
		ck_assert_uint_eq(value, expected);
		ck_assert_int_eq(*json.at, ',');
	}
}
END_TEST

START_TEST(signed_numbers)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = { { "-1", -1 }, { "5", 5 }, { "-9223372036854775807", -INT64_MAX }, { "0", 0 } };
	char line[LINE_BYTES + JSON_PADDING_BYTES];
	struct json json;
	int64_t value;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json = begin_line(line, rows[i].text, strlen(rows[i].text));
		ck_assert_msg(json_take_int(&json, &value) && value == rows[i].value, "row %zu", i);
	}
	json = begin_line(line, "9223372036854775808", 19);
	ck_assert(!json_take_int(&json, &value));
}
END_TEST

static const struct {
	const char *text; /* between the quotes */
	const char *value;
	size_t length;
} strings[] = {
	/*  0 */ { "", "", 0 },
	/*  1 */ { "plain", "plain", 5 },
	/*  2 */ { "exactly8", "exactly8", 8 },
	/*  3 */
	{ "a string longer than two words of the machine",
	  "a string longer than two words of the machine", 45 },
	/*  4 */ { "\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", 8 },
	/*  5 */ { "\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac", 6 },
	/*  6 */ { "\\uD83D\\uDE00", "\xf0\x9f\x98\x80", 4 },
	/*  7 */ { "\\uD83D", "\xef\xbf\xbd", 3 },
	/*  8 */ { "\\uD83Dx", "\xef\xbf\xbdx", 4 },
	/*  9 */ { "\\uDE00\\uD83D", "\xef\xbf\xbd\xef\xbf\xbd", 6 },
	/* 10 */
	{ "\\uD83D\\u0041",
	  "\xef\xbf\xbd"
	  "A",
	  4 },
	/* 11 */ { "\\u0000", "\xef\xbf\xbd", 3 },
	/* 12 */
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9 },
	/* 13 */
	{ "\xff"
	  "a",
	  "\xef\xbf\xbd"
	  "a",
	  4 },
	/* 14 */ { "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd", 6 },
	/* 15 */ { "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd", 6 },
	/* 16 */ { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 9 },
	/* 17 */ { "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 12 },
	/* 18 */ { "\x7f", "\x7f", 1 },
};

START_TEST(string_rows)
{
	char line[LINE_BYTES + JSON_PADDING_BYTES], quoted[256], value[JSON_DECODED_BYTES(256)];
	struct json_text text;
	struct json json;
	size_t length;

	snprintf(quoted, sizeof(quoted), "\"%s\"", strings[_i].text);
	json = begin_line(line, quoted, strlen(quoted));
	ck_assert_msg(json_take_string(&json, &text), "row %d: %s", _i, json.error);
	ck_assert(json_is_at_end(&json));
	length = json_decode(&text, value);
	ck_assert_msg(length == strings[_i].length && memcmp(value, strings[_i].value, length) == 0,
		      "row %d", _i);
	if (text.is_plain)
		ck_assert_msg(length == text.length && memcmp(value, text.bytes, length) == 0,
			      "row %d", _i);
}
END_TEST

START_TEST(bad_strings)
{
	static const char *const rows[] = {
		/* 0 */ "\"",       "\"abc",    "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u123",
		/* 6 */ "\"a\tb\"", "\"a\nb\"", "\"\\", "abc\"",
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(!is_accepted(rows[i], strlen(rows[i])), "row %zu", i);
	ck_assert(!is_accepted("\"a\0b\"", 5));
}
END_TEST

START_TEST(nesting_has_a_limit)
{
	char text[2 * JSON_DEPTH_MAX + 2];

	memset(text, '[', JSON_DEPTH_MAX + 1);
	memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	ck_assert(!is_accepted(text, sizeof(text)));
	ck_assert(is_accepted(text + 1, sizeof(text) - 2));
}
END_TEST

/* A small generator of JSON, the same in every run. */
struct generator {
	uint64_t state;
	char text[LINE_BYTES];
	size_t length;
	unsigned names;
};

static unsigned pick(struct generator *generator, unsigned count)
{
	generator->state ^= generator->state << 13;
	generator->state ^= generator->state >> 7;
	generator->state ^= generator->state << 17;
	return (unsigned)(generator->state >> 33) % count;
}

static void put(struct generator *generator, const char *text)
{
	size_t length = strlen(text);

	if (generator->length + length < LINE_BYTES / 2) {
		memcpy(generator->text + generator->length, text, length);
		generator->length += length;
	}
}

static void put_string(struct generator *generator)
{
	static const char *const pieces[] = { "a",        "op",      "longer piece of text",
					      "\\n",      "\\u00e9", "\\uD83D\\uDE00",
					      "\xc3\xa9", " ",       "\\\\",
					      "\\\"",     "{",       ",",
					      ":",        "1" };
	unsigned count = pick(generator, 5);

	put(generator, "\"");
	while (count-- > 0)
		put(generator, pieces[pick(generator, sizeof(pieces) / sizeof(pieces[0]))]);
	put(generator, "\"");
}

static void put_number(struct generator *generator)
{
	char text[32];
	unsigned digits = pick(generator, 19);
	uint64_t value = generator->state;

	while (digits-- > 0)
		value /= 10;
	snprintf(text, sizeof(text), "%" PRIu64, value % INT64_MAX);
	if (pick(generator, 10) == 0)
		put(generator, "-");
	put(generator, text);
	if (pick(generator, 20) == 0)
		put(generator, ".25");
	if (pick(generator, 20) == 0)
		put(generator, "e2");
}

static void put_value(struct generator *generator, unsigned depth);

static void put_members(struct generator *generator, unsigned depth)
{
	unsigned count = pick(generator, 8), i;
	char name[32];

	put(generator, "{");
	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s\"n%u\"%s:", i ? "," : "", generator->names++,
			 pick(generator, 9) ? "" : " ");
		put(generator, name);
		put_value(generator, depth + 1);
	}
	put(generator, "}");
}

static void put_value(struct generator *generator, unsigned depth)
{
	static const char *const literals[] = { "true", "false", "null", " []", "{ }", "0" };
	unsigned sort = pick(generator, depth > 4 ? 6 : 8), count;

	if (sort < 3) {
		put_number(generator);
	} else if (sort < 5) {
		put_string(generator);
	} else if (sort == 5) {
		put(generator, literals[pick(generator, sizeof(literals) / sizeof(literals[0]))]);
	} else if (sort == 6) {
		put_members(generator, depth);
	} else {
		put(generator, "[");
		for (count = pick(generator, 5); count > 0; count--) {
			put_value(generator, depth + 1);
			put(generator, count > 1 ? ", " : " ");
		}
		put(generator, "]");
	}
}

static void mutate(struct generator *generator)
{
	static const char bytes[] = "{}[]\",:\\0123456789.-eEtrufalsn u\tx";
	unsigned sort = pick(generator, 4);
	size_t at;

	if (generator->length == 0)
		return;
	at = pick(generator, (unsigned)generator->length);
	if (sort == 0) {
		generator->length = at;
	} else if (sort == 1) {
		memmove(generator->text + at, generator->text + at + 1, --generator->length - at);
	} else if (sort == 2) {
		generator->text[at] = bytes[pick(generator, sizeof(bytes) - 1)];
	} else {
		memmove(generator->text + at + 1, generator->text + at, generator->length++ - at);
		generator->text[at] = bytes[pick(generator, sizeof(bytes) - 1)];
	}
}

static bool same_value(struct json *json, const json_t *oracle);

static bool same_string(const struct json_text *text, const char *value, size_t length)
{
	char decoded[JSON_DECODED_BYTES(LINE_BYTES)];

	return json_decode(text, decoded) == length && memcmp(decoded, value, length) == 0;
}

static bool same_object(struct json *json, const json_t *oracle)
{
	char name[JSON_DECODED_BYTES(LINE_BYTES) + 1];
	struct json_text text;
	bool is_first = true;
	size_t count = 0;

	if (!json_open_object(json))
		return false;
	for (; json_member(json, &is_first, &text); count++) {
		name[json_decode(&text, name)] = '\0';
		if (!same_value(json, json_object_get(oracle, name)))
			return false;
	}
	return !json->error && count == json_object_size(oracle);
}

static bool same_array(struct json *json, const json_t *oracle)
{
	bool is_first = true;
	size_t count = 0;

	if (!json_open_array(json))
		return false;
	for (; json_element(json, &is_first); count++)
		if (!same_value(json, json_array_get(oracle, count)))
			return false;
	return !json->error && count == json_array_size(oracle);
}

static bool same_integer(struct json *json, json_int_t oracle)
{
	uint64_t value;
	int64_t negative;

	if (oracle >= 0 && *json->at != '-')
		return json_take_uint(json, &value) && value == (uint64_t)oracle;
	return json_take_int(json, &negative) && negative == oracle;
}

static bool same_value(struct json *json, const json_t *oracle)
{
	struct json_text text;

	switch (json_typeof(oracle)) {
	case JSON_OBJECT:
		return same_object(json, oracle);
	case JSON_ARRAY:
		return same_array(json, oracle);
	case JSON_STRING:
		return json_take_string(json, &text) &&
		       same_string(&text, json_string_value(oracle), json_string_length(oracle));
	case JSON_INTEGER:
		return same_integer(json, json_integer_value(oracle));
	case JSON_REAL:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
	return json_skip(json);
}

/* Texts that the other parser refuses and this one takes on purpose, or limits by its number
 * types. */
static bool is_ours_to_take(const json_error_t *error)
{
	enum json_error_code code = json_error_code(error);

	return code == json_error_invalid_utf8 || code == json_error_null_character ||
	       code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
	       strstr(error->text, "invalid Unicode") != NULL;
}

static void compare_with_oracle(const struct generator *generator, unsigned row,
				unsigned verdicts[2])
{
	char line[LINE_BYTES + JSON_PADDING_BYTES];
	json_error_t error;
	json_t *oracle = json_loadb(generator->text, generator->length, JSON_DECODE_ANY, &error);
	bool is_good = is_accepted(generator->text, generator->length);
	struct json json;

	ck_assert_msg(is_good == (oracle != NULL) || (!oracle && is_ours_to_take(&error)),
		      "row %u: %s: %.*s: %s", row, is_good ? "accepted" : "refused",
		      (int)generator->length, generator->text, oracle ? "good" : error.text);
	verdicts[is_good]++;
	json_decref(oracle);
	oracle = json_loadb(generator->text, generator->length,
			    JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
	if (!oracle)
		return;
	json = begin_line(line, generator->text, generator->length);
	json_space(&json);
	ck_assert_msg(same_value(&json, oracle), "row %u: %.*s: %s", row, (int)generator->length,
		      generator->text, json.error ? json.error : "different");
	json_decref(oracle);
}

START_TEST(like_another_parser)
{
	static struct generator generator = { .state = 88172645463325252 };
	unsigned verdicts[2] = { 0 };
	unsigned row, changes;

	for (row = 0; row < GENERATED_LINES; row++) {
		generator.length = 0;
		generator.names = 0;
		put_members(&generator, 0);
		for (changes = pick(&generator, 4); changes > 0; changes--)
			mutate(&generator);
		if (generator.length > 0)
			compare_with_oracle(&generator, row, verdicts);
	}
	ck_assert_uint_gt(verdicts[0], GENERATED_LINES / 10); /* both sorts were tried */
	ck_assert_uint_gt(verdicts[1], GENERATED_LINES / 10);
}
END_TEST

SUITE()
{
	EACH(number_rows, numbers);
	TEST(numbers_of_every_length);
	TEST(signed_numbers);
	EACH(string_rows, strings);
	TEST(bad_strings);
	TEST(nesting_has_a_limit);
	TEST(like_another_parser);
}
