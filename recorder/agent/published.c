/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process context. See published.h.
 *
 * The mapping begins with a header, which has the address of the payload. A publisher that changes
 * it sets the time in the header to 0 first, and to another one at the end. So what was read
 * between two equal times is whole.
 *
 *   ProcessContext  { resource = 1 }
 *   Resource        { attributes = 1, repeated }
 *   KeyValue        { key = 1, value = 2 }
 *   AnyValue        { string_value = 1 }
 */
#include "published.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { LINE_BYTES = 512, VERSION = 2, TRIES = 3 };

struct header {
	char signature[8]; /* "OTEL_CTX" */
	uint32_t version;
	uint32_t payload_bytes;
	uint64_t published_ns; /* 0 = it is just being changed */
	uint64_t payload;
};

_Static_assert(sizeof(struct header) == 32, "as publishers lay it out");

/* --- Its encoding ----------------------------------------------------------------------------- */

enum { WIRE_NUMBER = 0, WIRE_8_BYTES = 1, WIRE_BYTES = 2, WIRE_4_BYTES = 5 };

struct bytes {
	const unsigned char *at, *end;
};

static bool take_number(struct bytes *from, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (from->at == from->end)
			return false;
		*value |= (uint64_t)(*from->at & 0x7f) << shift;
		if (*from->at++ < 0x80)
			return true;
	}
	return false;
}

/* The next field; of one that has bytes, these, else none. */
static bool take_field(struct bytes *from, uint64_t *number, struct bytes *value)
{
	uint64_t key, count = 0;

	if (!take_number(from, &key))
		return false;
	*number = key >> 3;
	*value = (struct bytes){ from->at, from->at };
	if ((key & 7) == WIRE_NUMBER)
		return take_number(from, &count);
	if ((key & 7) == WIRE_BYTES && !take_number(from, &count))
		return false;
	if ((key & 7) == WIRE_8_BYTES || (key & 7) == WIRE_4_BYTES)
		count = (key & 7) == WIRE_8_BYTES ? 8 : 4;
	else if ((key & 7) != WIRE_BYTES)
		return false;
	if (count > (uint64_t)(from->end - from->at))
		return false;
	if ((key & 7) == WIRE_BYTES)
		*value = (struct bytes){ from->at, from->at + count };
	from->at += count;
	return true;
}

/* Empty when it is too long, or has a NUL. */
static void copy_text(char to[PUBLISHED_TEXT_BYTES], const struct bytes *from)
{
	size_t count = (size_t)(from->end - from->at);

	if (count >= PUBLISHED_TEXT_BYTES || memchr(from->at, '\0', count))
		count = 0;
	memcpy(to, from->at, count);
	to[count] = '\0';
}

/* The attribute whose bytes these are. */
static bool see_attribute(struct bytes attribute, published_see *see, void *context)
{
	char key[PUBLISHED_TEXT_BYTES] = "", text[PUBLISHED_TEXT_BYTES] = "";
	struct bytes value, any;
	uint64_t number;

	while (attribute.at < attribute.end) {
		if (!take_field(&attribute, &number, &value))
			return false;
		if (number == 1)
			copy_text(key, &value);
		for (any = value; number == 2 && any.at < any.end;) {
			uint64_t inner;

			if (!take_field(&any, &inner, &value))
				return false;
			if (inner == 1)
				copy_text(text, &value);
		}
	}
	if (key[0] && text[0])
		see(context, key, text);
	return true;
}

bool published_parse(const unsigned char *bytes, size_t count, published_see *see, void *context)
{
	struct bytes all = { bytes, bytes + count }, resource, attribute;
	uint64_t number;

	while (all.at < all.end) {
		if (!take_field(&all, &number, &resource))
			return false;
		while (number == 1 && resource.at < resource.end) {
			uint64_t inner;

			if (!take_field(&resource, &inner, &attribute) ||
			    (inner == 1 && !see_attribute(attribute, see, context)))
				return false;
		}
	}
	return true;
}

/* --- Its place -------------------------------------------------------------------------------- */

static bool read_memory(pid_t pid, uint64_t address, void *to, size_t count)
{
	struct iovec here = { to, count }, there = { (void *)(uintptr_t)address, count };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)count;
}

static bool is_name(const char *name)
{
	static const char *const names[] = { "/memfd:OTEL_CTX", "/memfd:OTEL_CTX (deleted)",
					     "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Where the mapping is; 0: there is none. */
static uint64_t find_mapping(pid_t pid)
{
	char line[LINE_BYTES];
	uint64_t found = 0;
	FILE *maps;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
	maps = fopen(line, "re");
	while (maps && found == 0 && fgets(line, sizeof(line), maps)) {
		char *name = strpbrk(line, "/[");

		line[strcspn(line, "\n")] = '\0';
		if (name && is_name(name))
			found = strtoull(line, NULL, 16);
	}
	if (maps)
		fclose(maps);
	return found;
}

static bool read_once(pid_t pid, uint64_t address, struct header *header, unsigned char *payload)
{
	struct header again;

	return read_memory(pid, address, header, sizeof(*header)) &&
	       memcmp(header->signature, "OTEL_CTX", sizeof(header->signature)) == 0 &&
	       header->version == VERSION && header->published_ns != 0 &&
	       header->payload_bytes <= PUBLISHED_PAYLOAD_BYTES &&
	       read_memory(pid, header->payload, payload, header->payload_bytes) &&
	       read_memory(pid, address, &again, sizeof(again)) &&
	       again.published_ns == header->published_ns;
}

bool published_read(pid_t pid, published_see *see, void *context)
{
	static unsigned char payload[PUBLISHED_PAYLOAD_BYTES];
	uint64_t address = find_mapping(pid);
	struct header header;

	for (int i = 0; address != 0 && i < TRIES; i++)
		if (read_once(pid, address, &header, payload))
			return published_parse(payload, header.payload_bytes, see, context);
	return false;
}
