/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes messages of Protocol Buffers into memory.
 *
 * One message at a time: its fields are appended in the order of the calls, messages within it
 * between protobuf_begin() and protobuf_end(). Whoever writes a long file takes the bytes after
 * each message of the outermost level and clears the buffer. Fields have numbers of 1 to 2^29 - 1.
 * Any value is written, also 0, which in version 3 of the language stands for a missing field. One
 * thread to a buffer.
 */
#ifndef WCPROF_PROTOBUF_H
#define WCPROF_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct protobuf {
	uint8_t *bytes;
	size_t length, room;
};

/* An empty buffer is one of zeros. */
void protobuf_clear(struct protobuf *to); /* keeps its memory */
void protobuf_free(struct protobuf *of);

/* uint64, uint32, bool and enum; int64 and int32 by their two's complement. */
void protobuf_number(struct protobuf *to, uint32_t field, uint64_t value);
void protobuf_fixed64(struct protobuf *to, uint32_t field, uint64_t value);
void protobuf_double(struct protobuf *to, uint32_t field, double value);
void protobuf_bytes(struct protobuf *to, uint32_t field, const void *bytes, size_t length);
/* Made printable, as utf8_printable() does it: readers refuse a text that is no UTF-8. */
void protobuf_text(struct protobuf *to, uint32_t field, const char *text);
/* A repeated field of numbers; nothing for none. */
void protobuf_packed(struct protobuf *to, uint32_t field, const uint64_t *values, size_t count);

/* The fields of another buffer. */
void protobuf_append(struct protobuf *to, const struct protobuf *fields);

/* A message within one, or the items of a packed field. The mark that begin gives is for the end of
 * the same one. */
size_t protobuf_begin(struct protobuf *to, uint32_t field);
void protobuf_item(struct protobuf *to, uint64_t value);
void protobuf_end(struct protobuf *to, size_t mark);

#endif
