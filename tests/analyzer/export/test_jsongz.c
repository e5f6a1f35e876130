/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a packed file is no JSON, or has other numbers than it was given. */
#include <string.h>
#include <zlib.h>

#include "export/jsongz.h"
#include "suite.h"

enum { PLAIN_BYTES = 1 << 22 };

/* The text of a file, unpacked. */
static char *unpacked(void (*write)(struct jsongz *))
{
	char *packed, *plain = calloc(PLAIN_BYTES, 1);
	size_t length;
	FILE *file = open_memstream(&packed, &length);
	struct jsongz *json = jsongz_new(file);
	write(json);
	jsongz_end(json);
	fclose(file);
	z_stream stream = { .next_in = (unsigned char *)packed,
			    .avail_in = (unsigned)length,
			    .next_out = (unsigned char *)plain,
			    .avail_out = PLAIN_BYTES - 1 };
	ck_assert_int_eq(inflateInit2(&stream, 15 + 16), Z_OK);
	ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
	ck_assert_uint_eq(stream.avail_in, 0);
	inflateEnd(&stream);
	free(packed);
	return plain;
}

static void write_numbers(struct jsongz *json)
{
	static const uint64_t times[] = { 0, 1, 1000000, 1500000, 1000001, 123456789, UINT64_MAX };
	jsongz_number(json, 0);
	jsongz_raw(json, " ");
	jsongz_number(json, UINT64_MAX);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		jsongz_raw(json, " ");
		jsongz_ms(json, times[i]);
	}
}

START_TEST(times_are_exact)
{
	char *text = unpacked(write_numbers);
	ck_assert_str_eq(text, "0 18446744073709551615 0 0.000001 1 1.5 1.000001 123.456789 "
			       "18446744073709.551615");
	free(text);
}
END_TEST

static void write_hostile(struct jsongz *json)
{
	jsongz_text(json, "a\"b\\c\n\xff\x01</script>");
	jsongz_text(json, "");
}

START_TEST(texts_are_json)
{
	char *text = unpacked(write_hostile);
	ck_assert_str_eq(text, "\"a\\\"b\\\\c\\\\x0a\xEF\xBF\xBD\\\\x01</script>\"\"\"");
	free(text);
}
END_TEST

static void write_nothing(struct jsongz *json)
{
	(void)json;
}

START_TEST(an_empty_file_is_one)
{
	char *text = unpacked(write_nothing);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

enum { MANY = 60000 };

static void write_much(struct jsongz *json)
{
	for (uint64_t i = 0; i < MANY; i++) {
		jsongz_number(json, i);
		jsongz_raw(json, ",");
	}
}

/* More than any buffer holds. */
START_TEST(long_files_are_whole)
{
	char *text = unpacked(write_much), *at = text;
	for (unsigned long i = 0; i < MANY; i++) {
		ck_assert_uint_eq(strtoul(at, &at, 10), i);
		ck_assert_int_eq(*at++, ',');
	}
	ck_assert_int_eq(*at, '\0');
	free(text);
}
END_TEST

SUITE()
{
	TEST(times_are_exact);
	TEST(texts_are_json);
	TEST(an_empty_file_is_one);
	TEST(long_files_are_whole);
}
