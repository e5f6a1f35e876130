/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, readers of Protocol Buffers would refuse our files, or read other numbers in
 * them.
 */
#include <string.h>

#include "export/protobuf.h"
#include "suite.h"

static void is_now(struct protobuf *buffer, const char *bytes, size_t length)
{
	ck_assert_uint_eq(buffer->length, length);
	ck_assert_mem_eq(buffer->bytes, bytes, length);
	protobuf_clear(buffer);
}

static const struct {
	uint32_t field;
	uint64_t value;
	const char *bytes;
	size_t length;
} numbers[] = {
	/* 0 */ { 1, 0, "\x08\x00", 2 },
	/* 1: as the language's own manual has it */ { 1, 150, "\x08\x96\x01", 3 },
	/* 2: the last of one byte */ { 15, 127, "\x78\x7f", 2 },
	/* 3: the first field of two */ { 16, 128, "\x80\x01\x80\x01", 4 },
	/* 4: minus one */
	{ 2, UINT64_MAX, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },
	/* 5: the last field */ { (1 << 29) - 1, 1, "\xf8\xff\xff\xff\x0f\x01", 6 },
};

START_TEST(numbers_have_seven_bits_to_a_byte)
{
	struct protobuf buffer = { 0 };
	protobuf_number(&buffer, numbers[_i].field, numbers[_i].value);
	is_now(&buffer, numbers[_i].bytes, numbers[_i].length);
	protobuf_free(&buffer);
}
END_TEST

START_TEST(other_fields_are_as_the_encoding_says)
{
	const uint64_t values[] = { 3, 270, 86942 };
	struct protobuf buffer = { 0 };
	protobuf_fixed64(&buffer, 1, 0x0807060504030201);
	is_now(&buffer, "\x09\x01\x02\x03\x04\x05\x06\x07\x08", 9);
	protobuf_double(&buffer, 1, 1.0);
	is_now(&buffer, "\x09\0\0\0\0\0\0\xf0\x3f", 9);
	protobuf_bytes(&buffer, 2, "a\0b", 3);
	is_now(&buffer,
	       "\x12\x03"
	       "a\0b",
	       5);
	protobuf_packed(&buffer, 6, values, 3);
	is_now(&buffer, "\x32\x06\x03\x8e\x02\x9e\xa7\x05", 8);
	protobuf_packed(&buffer, 6, values, 0);
	is_now(&buffer, "", 0);
	protobuf_free(&buffer);
}
END_TEST

/* Without a byte to spare the memory is one that a checker of addresses sees the end of. */
START_TEST(messages_have_their_length_before_them)
{
	static char inside[20000];
	struct protobuf buffer = { 0 };
	size_t outer = protobuf_begin(&buffer, 3);
	size_t inner = protobuf_begin(&buffer, 1);
	protobuf_number(&buffer, 1, 150);
	protobuf_end(&buffer, inner);
	size_t none = protobuf_begin(&buffer, 2);
	protobuf_end(&buffer, none);
	protobuf_end(&buffer, outer);
	is_now(&buffer, "\x1a\x07\x0a\x03\x08\x96\x01\x12\x00", 9);

	memset(inside, 'x', sizeof(inside));
	outer = protobuf_begin(&buffer, 1);
	protobuf_bytes(&buffer, 1, inside, sizeof(inside)); /* 4 + 20000 bytes: a length of three */
	protobuf_end(&buffer, outer);
	ck_assert_uint_eq(buffer.length, 4 + 4 + sizeof(inside));
	ck_assert_mem_eq(buffer.bytes, "\x0a\xa4\x9c\x01\x0a\xa0\x9c\x01x", 9);
	ck_assert_mem_eq(buffer.bytes + 8, inside, sizeof(inside));
	protobuf_free(&buffer);
}
END_TEST

START_TEST(texts_are_printable_and_of_utf8)
{
	struct protobuf buffer = { 0 };
	protobuf_text(&buffer, 1, "a b");
	is_now(&buffer,
	       "\x0a\x03"
	       "a b",
	       5);
	protobuf_text(&buffer, 1, "\xC3\xA4");
	is_now(&buffer, "\x0a\x02\xC3\xA4", 4);
	protobuf_text(&buffer, 1, "\xFF\n");
	is_now(&buffer, "\x0a\x07\xEF\xBF\xBD\\x0a", 9);
	protobuf_text(&buffer, 1, "");
	is_now(&buffer, "\x0a\x00", 2);
	protobuf_free(&buffer);
}
END_TEST

SUITE()
{
	EACH(numbers_have_seven_bits_to_a_byte, numbers);
	TEST(other_fields_are_as_the_encoding_says);
	TEST(messages_have_their_length_before_them);
	TEST(texts_are_printable_and_of_utf8);
}
