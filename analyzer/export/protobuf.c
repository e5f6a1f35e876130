/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoding of Protocol Buffers; protobuf.h has the contract.
 *
 * A field is its number and the type of its coding, then its value. A message within a message has
 * its length before it, which is known at its end only. One byte is left free; what is inside moves
 * up when the length needs more.
 */
#include "protobuf.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

enum { VARINT_BYTES_MAX = 10, FIELD_MAX = (1 << 29) - 1 };

void protobuf_clear(struct protobuf *to)
{
	to->length = 0;
}

void protobuf_free(struct protobuf *of)
{
	free(of->bytes);
	*of = (struct protobuf){ 0 };
}

/* Where `more` bytes can be put. */
static uint8_t *reserve(struct protobuf *to, size_t more)
{
	if (to->room - to->length < more)
		to->bytes = memory_grow(to->bytes, &to->room, to->length + more, 1);
	return to->bytes + to->length;
}

/* Bytes of a number in groups of seven bits, lowest first. */
static size_t encode(uint8_t to[VARINT_BYTES_MAX], uint64_t value)
{
	size_t length = 0;
	for (; value >= 0x80; value >>= 7)
		to[length++] = (uint8_t)(value | 0x80);
	to[length++] = (uint8_t)value;
	return length;
}

static void put_varint(struct protobuf *to, uint64_t value)
{
	to->length += encode(reserve(to, VARINT_BYTES_MAX), value);
}

static void put_bytes(struct protobuf *to, const void *bytes, size_t length)
{
	if (length > 0)
		memcpy(reserve(to, length), bytes, length);
	to->length += length;
}

static void put_key(struct protobuf *to, uint32_t field, enum wire wire)
{
	assert(field > 0 && field <= FIELD_MAX);
	put_varint(to, (uint64_t)field << 3 | wire);
}

void protobuf_number(struct protobuf *to, uint32_t field, uint64_t value)
{
	put_key(to, field, WIRE_VARINT);
	put_varint(to, value);
}

void protobuf_fixed64(struct protobuf *to, uint32_t field, uint64_t value)
{
	put_key(to, field, WIRE_FIXED64);
	put_bytes(to, &value, sizeof(value)); /* lowest byte first, as x86-64 has it */
}

void protobuf_double(struct protobuf *to, uint32_t field, double value)
{
	put_key(to, field, WIRE_FIXED64);
	put_bytes(to, &value, sizeof(value));
}

void protobuf_bytes(struct protobuf *to, uint32_t field, const void *bytes, size_t length)
{
	put_key(to, field, WIRE_LENGTH);
	put_varint(to, length);
	put_bytes(to, bytes, length);
}

void protobuf_append(struct protobuf *to, const struct protobuf *fields)
{
	put_bytes(to, fields->bytes, fields->length);
}

static bool is_plain(const char *text)
{
	while (*text >= ' ' && *text < 0x7F)
		text++;
	return *text == 0;
}

void protobuf_text(struct protobuf *to, uint32_t field, const char *text)
{
	if (is_plain(text)) {
		protobuf_bytes(to, field, text, strlen(text));
		return;
	}
	char *printable = utf8_printable(text);
	protobuf_bytes(to, field, printable, strlen(printable));
	free(printable);
}

void protobuf_packed(struct protobuf *to, uint32_t field, const uint64_t *values, size_t count)
{
	if (count == 0)
		return;
	size_t mark = protobuf_begin(to, field);
	for (size_t i = 0; i < count; i++)
		put_varint(to, values[i]);
	protobuf_end(to, mark);
}

size_t protobuf_begin(struct protobuf *to, uint32_t field)
{
	put_key(to, field, WIRE_LENGTH);
	put_varint(to, 0);
	return to->length;
}

void protobuf_item(struct protobuf *to, uint64_t value)
{
	put_varint(to, value);
}

void protobuf_end(struct protobuf *to, size_t mark)
{
	uint8_t bytes[VARINT_BYTES_MAX];
	assert(mark > 0 && mark <= to->length);
	size_t inside = to->length - mark;
	size_t length = encode(bytes, inside);
	reserve(to, length - 1);
	memmove(to->bytes + mark - 1 + length, to->bytes + mark, inside);
	memcpy(to->bytes + mark - 1, bytes, length);
	to->length += length - 1;
}
