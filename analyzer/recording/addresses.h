/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers the addresses of a recording: (process, address) to a dense index, in order of first
 * sight. An object that processes share is one, whichever process uses it.
 *
 * One thread. A zeroed struct is an empty table.
 */
#ifndef WCPROF_ADDRESSES_H
#define WCPROF_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

struct address_key {
	uint64_t address;
	uint32_t process; /* NO_INDEX: a shared object's */
};

struct addresses {
	struct address_key *keys; /* by index */
	size_t count;
	size_t capacity;
	uint32_t *buckets;   /* open addressing; index + 1, 0 = free */
	size_t bucket_count; /* a power of two, at least twice `count` */
};

uint32_t addresses_add(struct addresses *, uint32_t process, uint64_t address);
uint32_t addresses_find(const struct addresses *, uint32_t process,
			uint64_t address); /* or NO_INDEX */
void addresses_free(struct addresses *);

#endif
