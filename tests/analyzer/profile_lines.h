/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A written profile as lines of text, for the tests of what writes it. Decodes on its own.
 *
 * A sample is a line "outer;inner|key=value,...|values". Frames with functions that were inlined
 * are "callee<caller"; those without a name are their address. Included by one test program each.
 */
#ifndef WCPROF_TESTS_PROFILE_LINES_H
#define WCPROF_TESTS_PROFILE_LINES_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "suite.h"

enum { LINES_ITEMS = 256, LINES_BYTES = 1 << 20, LINES_TEXT = 8192 };

struct field {
	uint32_t number;
	uint64_t value; /* or the length */
	const uint8_t *bytes;
};

/* Items by id, or in their order; each the bytes of a message. */
struct profile_read {
	uint8_t *bytes;
	size_t length;
	char strings[LINES_ITEMS][128];
	size_t string_count;
	struct field locations[LINES_ITEMS], functions[LINES_ITEMS], mappings[LINES_ITEMS];
	struct field samples[LINES_ITEMS];
	size_t sample_count;
	uint64_t numbers[16]; /* of the profile's own fields, the last of each */
	char text[LINES_TEXT];
};

static inline uint64_t read_varint(const uint8_t **at)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		ck_assert_uint_lt(shift, 64);
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
}

static inline bool read_field(const uint8_t **at, const uint8_t *end, struct field *field)
{
	if (*at == end)
		return false;
	uint64_t key = read_varint(at);

	*field = (struct field){ .number = (uint32_t)(key >> 3), .value = read_varint(at) };
	ck_assert((key & 7) == 0 || (key & 7) == 2);
	if ((key & 7) == 2) {
		field->bytes = *at;
		*at += field->value;
	}
	ck_assert(*at <= end);
	return true;
}

/* A number in a message, 0 when it is not there. */
static inline uint64_t number_in(const struct field *message, uint32_t number)
{
	const uint8_t *at = message->bytes;
	struct field field;
	uint64_t value = 0;

	ck_assert_ptr_nonnull(message->bytes);
	while (read_field(&at, message->bytes + message->value, &field))
		if (field.number == number)
			value = field.value;
	return value;
}

static inline void profile_unpack(struct profile_read *read, const void *bytes, size_t length)
{
	z_stream stream = { 0 };

	*read = (struct profile_read){ .bytes = malloc(LINES_BYTES) };
	ck_assert_int_eq(inflateInit2(&stream, 15 + 16), Z_OK);
	stream.next_in = (void *)(uintptr_t)bytes;
	stream.avail_in = (unsigned)length;
	stream.next_out = read->bytes;
	stream.avail_out = LINES_BYTES;
	ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
	ck_assert_uint_eq(stream.avail_in, 0);
	read->length = stream.total_out;
	inflateEnd(&stream);
}

/* Ids are 1, 2, 3 ... in order. */
static inline void keep_item(struct field *items, const struct field *field)
{
	uint64_t id = number_in(field, 1);

	ck_assert_uint_gt(id, 0);
	ck_assert_uint_lt(id, LINES_ITEMS);
	ck_assert(id == 1 || items[id - 1].bytes);
	ck_assert_ptr_null(items[id].bytes);
	items[id] = *field;
}

static inline void profile_read(struct profile_read *read, const void *bytes, size_t length)
{
	struct field field;

	profile_unpack(read, bytes, length);
	const uint8_t *at = read->bytes;
	while (read_field(&at, read->bytes + read->length, &field)) {
		if (field.number == 2)
			read->samples[read->sample_count++] = field;
		else if (field.number == 3)
			keep_item(read->mappings, &field);
		else if (field.number == 4)
			keep_item(read->locations, &field);
		else if (field.number == 5)
			keep_item(read->functions, &field);
		else if (field.number == 6)
			snprintf(read->strings[read->string_count++], 128, "%.*s", (int)field.value,
				 (const char *)field.bytes);
		else if (field.number < 16)
			read->numbers[field.number] = field.value;
		ck_assert_uint_lt(read->string_count, LINES_ITEMS);
		ck_assert_uint_lt(read->sample_count, LINES_ITEMS);
	}
	ck_assert_str_eq(read->strings[0], "");
}

static inline void profile_read_free(struct profile_read *read)
{
	free(read->bytes);
}

static inline void add_text(struct profile_read *read, const char *text)
{
	ck_assert_uint_lt(strlen(read->text) + strlen(text), LINES_TEXT);
	strcat(read->text, text);
}

static inline void add_location(struct profile_read *read, uint64_t id)
{
	const uint8_t *at = read->locations[id].bytes;
	char text[300], separator[2] = "";
	struct field field;

	ck_assert_ptr_nonnull(at);
	while (read_field(&at, read->locations[id].bytes + read->locations[id].value, &field)) {
		if (field.number != 4)
			continue;
		const struct field *function = &read->functions[number_in(&field, 1)];
		uint64_t line = number_in(&field, 2);
		snprintf(text, sizeof(text), "%s%s", separator,
			 read->strings[number_in(function, 2)]);
		add_text(read, text);
		snprintf(text, sizeof(text), " %s:%" PRIu64, read->strings[number_in(function, 4)],
			 line);
		add_text(read, line ? text : "");
		strcpy(separator, "<");
	}
	if (!separator[0]) {
		snprintf(text, sizeof(text), "0x%" PRIx64, number_in(&read->locations[id], 3));
		add_text(read, text);
	}
}

static inline void add_locations(struct profile_read *read, const struct field *field)
{
	uint64_t ids[LINES_ITEMS];
	size_t count = 0;

	for (const uint8_t *at = field->bytes; at < field->bytes + field->value;)
		ids[count++] = read_varint(&at);
	while (count-- > 0) {
		add_location(read, ids[count]);
		add_text(read, count ? ";" : "");
	}
}

static inline void add_sample(struct profile_read *read, const struct field *sample)
{
	const uint8_t *at = sample->bytes;
	struct field field;
	char text[300], values[200] = "|", separator[2] = "|";

	while (read_field(&at, sample->bytes + sample->value, &field)) {
		if (field.number == 1)
			add_locations(read, &field);
		for (const uint8_t *value = field.bytes;
		     field.number == 2 && value < field.bytes + field.value;)
			snprintf(values + strlen(values), 30, "%s%" PRIu64, values[1] ? " " : "",
				 read_varint(&value));
		if (field.number != 3)
			continue;
		snprintf(text, sizeof(text), "%s%s=%s", separator,
			 read->strings[number_in(&field, 1)], read->strings[number_in(&field, 2)]);
		add_text(read, text);
		snprintf(text, sizeof(text), "%" PRIu64, number_in(&field, 3));
		add_text(read, number_in(&field, 3) ? text : "");
		strcpy(separator, ",");
	}
	add_text(read, separator[0] == '|' ? "|" : "");
	add_text(read, values);
	add_text(read, "\n");
}

/* All samples, in the order of the file. */
static inline const char *profile_lines(struct profile_read *read)
{
	read->text[0] = '\0';
	for (size_t i = 0; i < read->sample_count; i++)
		add_sample(read, &read->samples[i]);
	return read->text;
}

#endif
