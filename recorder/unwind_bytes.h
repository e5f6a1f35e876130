/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of bytes of an unwind table that is read from its begin to its end.
 *
 * Nothing is read beyond the end: then the run has failed, and yields zeros from there on.
 */
#ifndef WCPROF_UNWIND_BYTES_H
#define WCPROF_UNWIND_BYTES_H

#include <stdbool.h>
#include <stdint.h>

struct unwind_bytes {
	const uint8_t *at;
	const uint8_t *end;
	bool has_failed;
};

static inline bool bytes_are_left(const struct unwind_bytes *bytes)
{
	return !bytes->has_failed && bytes->at < bytes->end;
}

/* Takes so many of them off the begin. */
static inline struct unwind_bytes bytes_take(struct unwind_bytes *bytes, uint64_t count)
{
	struct unwind_bytes taken = { bytes->at, bytes->at, true };

	if (bytes->has_failed || count > (uint64_t)(bytes->end - bytes->at)) {
		bytes->has_failed = true;
		return taken;
	}
	bytes->at += count;
	taken.end = bytes->at;
	taken.has_failed = false;
	return taken;
}

/* A number of up to eight bytes, the lowest first. */
static inline uint64_t bytes_number(struct unwind_bytes *bytes, unsigned size)
{
	struct unwind_bytes taken = bytes_take(bytes, size);
	uint64_t number = 0;

	for (unsigned i = 0; !taken.has_failed && i < size; i++)
		number |= (uint64_t)taken.at[i] << (8 * i);
	return number;
}

/* The same with a sign. */
static inline int64_t bytes_signed(struct unwind_bytes *bytes, unsigned size)
{
	unsigned unused = 64 - 8 * size;

	return (int64_t)(bytes_number(bytes, size) << unused) >> unused;
}

/* A number of seven bits a byte ("LEB128"); *bits says of how many it is. */
static inline uint64_t bytes_sevens(struct unwind_bytes *bytes, unsigned *bits)
{
	uint64_t number = 0, byte = 0x80;

	for (*bits = 0; (byte & 0x80) && !bytes->has_failed; *bits += 7) {
		byte = bytes_number(bytes, 1);
		if (*bits < 64)
			number |= (byte & 0x7f) << *bits;
	}
	return number;
}

static inline uint64_t bytes_uleb(struct unwind_bytes *bytes)
{
	unsigned bits;

	return bytes_sevens(bytes, &bits);
}

static inline int64_t bytes_sleb(struct unwind_bytes *bytes)
{
	unsigned bits;
	uint64_t number = bytes_sevens(bytes, &bits);

	if (bits < 64 && (number >> (bits - 1) & 1))
		number |= UINT64_MAX << bits;
	return (int64_t)number;
}

#endif
