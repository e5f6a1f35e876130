/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of bytes: FNV-1a, 64 bits (Fowler, Noll, Vo). And numbers without any order. Any thread.
 */
#ifndef WCPROF_HASH_H
#define WCPROF_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325u
#define HASH_PRIME 0x100000001b3u

/* Goes on from the hash of what was before, or from HASH_START. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ at[i]) * HASH_PRIME;
	return hash;
}

/* Of one index after the other: without any order, and the same each time. */
static inline uint32_t hash_index(uint32_t index)
{
	uint32_t hash = (index + 1) * 2654435761u;

	hash = (hash ^ hash >> 15) * 2246822519u;
	return hash ^ hash >> 13;
}

#endif
