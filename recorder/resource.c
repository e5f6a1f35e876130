/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a service's attributes. See resource.h.
 *
 *	ProcessContext { Resource resource = 1; }   Resource { repeated KeyValue attributes = 1; }
 *	KeyValue { string key = 1; AnyValue value = 2; }   AnyValue { string string_value = 1; }
 *
 * Other fields are passed over, whatever their type.
 */
#include "resource.h"

#include <string.h>

#include "in_target.h"

enum { FIELD_RESOURCE = 1, FIELD_ATTRIBUTE = 1, FIELD_KEY = 1, FIELD_VALUE = 2, FIELD_STRING = 1 };
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };
enum { VARINT_BYTES_MAX = 10 };

struct bytes {
	const uint8_t *at;
	const uint8_t *end;
	bool is_bad; /* no message, or cut off */
};

static bool take_varint(struct bytes *from, uint64_t *value)
{
	*value = 0;
	for (int i = 0; i < VARINT_BYTES_MAX && from->at < from->end; i++) {
		uint8_t byte = *from->at++;

		*value |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (byte < 0x80)
			return true;
	}
	return false;
}

static bool take_bytes(struct bytes *from, uint64_t count, struct bytes *part)
{
	if (count > (uint64_t)(from->end - from->at))
		return false;
	*part = (struct bytes){ from->at, from->at + count, false };
	from->at += count;
	return true;
}

/* A number is passed over; a message or a text is `part`, which else is none. */
static bool take_value(struct bytes *from, uint64_t wire, struct bytes *part)
{
	struct bytes passed;
	uint64_t value;

	part->at = NULL;
	switch (wire) {
	case WIRE_VARINT:
		return take_varint(from, &value);
	case WIRE_FIXED64:
		return take_bytes(from, sizeof(uint64_t), &passed);
	case WIRE_FIXED32:
		return take_bytes(from, sizeof(uint32_t), &passed);
	case WIRE_BYTES:
		return take_varint(from, &value) && take_bytes(from, value, part);
	default:
		return false;
	}
}

/* The next field that is a message or a text; false at the end, and at what is no message. */
static bool next_part(struct bytes *from, uint64_t *field, struct bytes *part)
{
	uint64_t key;

	while (from->at < from->end) {
		if (!take_varint(from, &key) || !take_value(from, key & 7, part)) {
			from->is_bad = true;
			return false;
		}
		*field = key >> 3;
		if (part->at)
			return true;
	}
	return false;
}

static void take_attribute(struct deployment *deployment, struct bytes attribute)
{
	struct bytes part, key = { 0 }, value = { 0 }, text = { 0 };
	uint64_t field;

	while (next_part(&attribute, &field, &part)) {
		if (field == FIELD_KEY)
			key = part;
		if (field == FIELD_VALUE)
			value = part;
	}
	while (next_part(&value, &field, &part))
		if (field == FIELD_STRING)
			text = part;
	if (key.at && text.at)
		resource_take(deployment, (const char *)key.at, (size_t)(key.end - key.at),
			      (const char *)text.at, (size_t)(text.end - text.at));
}

bool resource_read(struct deployment *deployment, const uint8_t *bytes, size_t byte_count)
{
	struct bytes message = { bytes, bytes + byte_count, false }, resource, attribute;
	uint64_t field;

	while (next_part(&message, &field, &resource)) {
		if (field != FIELD_RESOURCE)
			continue;
		while (next_part(&resource, &field, &attribute))
			if (field == FIELD_ATTRIBUTE)
				take_attribute(deployment, attribute);
		message.is_bad |= resource.is_bad;
	}
	return !message.is_bad;
}

/* --- Texts --- */

static const struct {
	const char *key;
	uint32_t bytes;
	uint32_t offset; /* of the text */
} rows[] = {
#define ROW(key, member)                                                  \
	{                                                                 \
		key, sizeof(key) - 1, offsetof(struct deployment, member) \
	}
	ROW("service.name", name),
	ROW("service.version", version),
	ROW("deployment.environment", environment), /* as it was called before */
	ROW("deployment.environment.name", environment),
	ROW("service.instance.id", instance),
#undef ROW
};

void resource_take(struct deployment *deployment, const char *key, size_t key_bytes,
		   const char *text, size_t text_bytes)
{
	size_t kept =
		text_bytes < DEPLOYMENT_TEXT_BYTES - 1 ? text_bytes : DEPLOYMENT_TEXT_BYTES - 1;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *to = (char *)deployment + rows[i].offset;

		if (rows[i].bytes != key_bytes || memcmp(rows[i].key, key, key_bytes) != 0)
			continue;
		/* The last byte stays 0, so a reader meanwhile finds an end. */
		memcpy(to, text, kept);
		memset(to + kept, 0, DEPLOYMENT_TEXT_BYTES - kept);
	}
}
