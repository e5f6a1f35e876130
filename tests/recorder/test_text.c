/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, dumps and answers are not the JSON that they should be: digits, escapes,
 * lengths. */
#include "text.h"

#include "recording.h"

#include <fcntl.h>

#include "suite.h"

static const struct {
	uint64_t value;
	const char *text;
} numbers[] = {
	/* 0 */ { 0, "0" },
	/* 1 */ { 9, "9" },
	/* 2 */ { 10, "10" },
	/* 3 */ { 99, "99" },
	/* 4 */ { 100, "100" },
	/* 5 */ { 12345, "12345" },
	/* 6 */ { 1000000, "1000000" },
	/* 7 */ { UINT64_MAX, "18446744073709551615" },
};

START_TEST(numbers_are_written_in_decimal)
{
	char bytes[32];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };

	text_put_u64(&text, numbers[_i].value);
	ck_assert(text_end(&text));
	ck_assert_str_eq(bytes, numbers[_i].text);
}
END_TEST

static const struct {
	const char *from;
	size_t bytes;
	const char *json;
} strings[] = {
	/*  0 */ { "", 0, "\"\"" },
	/*  1 */ { "plain", 5, "\"plain\"" },
	/*  2 */ { "a\"b\\c", 5, "\"a\\\"b\\\\c\"" },
	/*  3 */ { "\n\t\0", 3, "\"\\u000a\\u0009\\u0000\"" },
	/*  4 */ { "\x7f", 1, "\"\\u007f\"" },
	/*  5 */ { "\xc3\xa4", 2, "\"\xc3\xa4\"" },
	/*  6 */ { "\xe2\x82\xac", 3, "\"\xe2\x82\xac\"" },
	/*  7 */ { "\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\"" },
	/*  8 */ { "\xff", 1, "\"\\ufffd\"" },
	/*  9: cut off */ { "\xe2\x82", 2, "\"\\ufffd\\ufffd\"" },
	/* 10: overlong */ { "\xc0\xaf", 2, "\"\\ufffd\\ufffd\"" },
	/* 11: surrogate */ { "\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"" },
	/* 12: beyond Unicode */ { "\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
	/* 13 */ { "a\x80z", 3, "\"a\\ufffdz\"" },
};

START_TEST(strings_are_escaped)
{
	char bytes[64];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };
	json_t *parsed;

	text_put_json(&text, strings[_i].from, strings[_i].bytes);
	ck_assert(text_end(&text));
	ck_assert_str_eq(bytes, strings[_i].json);
	parsed = json_loads(bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	ck_assert_ptr_nonnull(parsed);
	json_decref(parsed);
}
END_TEST

START_TEST(what_does_not_fit_is_left_out_and_said)
{
	char bytes[8];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };

	text_put(&text, "12345");
	text_put_u64(&text, 678);
	ck_assert(!text.overflowed);
	text_put(&text, "9");
	ck_assert(text.overflowed);
	ck_assert(!text_end(&text));
	ck_assert_str_eq(bytes, "1234567");
}
END_TEST

START_TEST(members_of_an_object)
{
	char bytes[64];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };

	text_put_key(&text, "before");
	text_put_literal(&text, "{");
	text_put_key_u64(&text, "a", 1);
	text_put_key_u64(&text, "b", 22);
	text_put_key_string(&text, "c", "\"x\"");
	text_put_key(&text, "d");
	text_put_literal(&text, "[]}");
	ck_assert(text_end(&text));
	ck_assert_str_eq(bytes, ",\"before\":{\"a\":1,\"b\":22,\"c\":\"\\\"x\\\"\",\"d\":[]}");
}
END_TEST

START_TEST(hex_and_signs)
{
	char bytes[64];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };
	const uint8_t id[3] = { 0x00, 0xab, 0x5f };

	text_put_hex(&text, id, 3);
	text_put_literal(&text, " ");
	text_put_hex_u64(&text, 0);
	text_put_literal(&text, " ");
	text_put_hex_u64(&text, 0x40c0);
	text_put_literal(&text, " ");
	text_put_hex_u64(&text, UINT64_MAX);
	text_put_literal(&text, " ");
	text_put_i64(&text, INT64_MIN);
	ck_assert(text_end(&text));
	ck_assert_str_eq(bytes, "00ab5f 0 40c0 ffffffffffffffff -9223372036854775808");
}
END_TEST

static const struct {
	const char *from;
	bool is_number;
	uint64_t value;
} parses[] = {
	/* 0 */ { "0", true, 0 },
	/* 1 */ { "42", true, 42 },
	/* 2 */ { "18446744073709551615", true, UINT64_MAX },
	/* 3 */ { "18446744073709551616", false, 0 },
	/* 4 */ { "", false, 0 },
	/* 5 */ { "-1", false, 0 },
	/* 6 */ { "1 ", false, 0 },
	/* 7 */ { "0x10", false, 0 },
	/* 8 */ { "99999999999999999999999", false, 0 },
};

START_TEST(only_numbers_are_numbers)
{
	uint64_t value = 0;

	ck_assert(text_parse_u64(parses[_i].from, strlen(parses[_i].from), &value) ==
		  parses[_i].is_number);
	ck_assert_uint_eq(value, parses[_i].value);
}
END_TEST

/* --- Complaints --- */

/* Becomes descriptor 2; the end from which it is read. */
static int make_stderr_a_pipe(void)
{
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	close(ends[1]);
	return ends[0];
}

static void expect_text(int from, const char *wanted)
{
	char found[64] = "";

	(void)!read(from, found, sizeof(found) - 1);
	ck_assert_str_eq(found, wanted);
}

START_TEST(complaints_go_where_they_went_at_load)
{
	int from = make_stderr_a_pipe();

	text_note_stderr();
	text_complain("so", "it is");
	expect_text(from, "wcprof: so it is\n");
}
END_TEST

START_TEST(another_files_descriptor_2_stays_as_it_is)
{
	int other;

	(void)make_stderr_a_pipe();
	text_note_stderr();
	other = make_stderr_a_pipe();
	text_complain("so", "it is");
	expect_text(other, "");
}
END_TEST

START_TEST(what_was_closed_at_load_is_never_written)
{
	int other;

	close(STDERR_FILENO);
	text_note_stderr();
	other = make_stderr_a_pipe();
	text_complain("so", "it is");
	expect_text(other, "");
}
END_TEST

/* A write to either would end the program, or keep it waiting. */
START_TEST(nobody_who_reads_is_no_harm)
{
	static const char much[4096];
	int from = make_stderr_a_pipe();

	text_note_stderr();
	while (write(STDERR_FILENO, much, sizeof(much)) > 0)
		continue;
	ck_assert_int_eq(fcntl(STDERR_FILENO, F_SETFL, 0), 0);
	text_complain("no", "room");
	close(from);
	text_complain("no", "reader");
}
END_TEST

START_TEST(a_confined_process_says_nothing)
{
	int from = make_stderr_a_pipe();

	gate_facts.is_confined = 1;
	text_complain("so", "it is");
	gate_facts.is_confined = 0;
	expect_text(from, "");
}
END_TEST

SUITE()
{
	LOOP(numbers_are_written_in_decimal, 0, 8);
	LOOP(strings_are_escaped, 0, 14);
	TEST(what_does_not_fit_is_left_out_and_said);
	TEST(members_of_an_object);
	TEST(hex_and_signs);
	LOOP(only_numbers_are_numbers, 0, 9);
	TEST(complaints_go_where_they_went_at_load);
	TEST(another_files_descriptor_2_stays_as_it_is);
	TEST(what_was_closed_at_load_is_never_written);
	TEST(nobody_who_reads_is_no_harm);
	TEST(a_confined_process_says_nothing);
}
