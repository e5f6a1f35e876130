/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with open addressing and linear probing; never shrinks. One thread. */
#include "addresses.h"

#include "base/memory.h"
#include "recording.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One number for all processes. */
static uint32_t process_of(uint32_t process, uint64_t address)
{
	return address & SHARED_ADDRESS ? NO_INDEX : process;
}

static size_t home(const struct addresses *table, uint32_t process, uint64_t address)
{
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	uint64_t hash = (address ^ process * 0xbf58476d1ce4e5b9u) * factor;

	/* twice, as keys that differ in their highest bits alone have the same low ones */
	hash = (hash ^ hash >> 32) * factor;
	return (size_t)(hash >> 32) & (table->bucket_count - 1);
}

/* The bucket of this key, or the free one where it belongs. */
static size_t bucket_of(const struct addresses *table, uint32_t process, uint64_t address)
{
	size_t at = home(table, process, address);

	for (; table->buckets[at]; at = (at + 1) & (table->bucket_count - 1)) {
		const struct address_key *key = &table->keys[table->buckets[at] - 1];

		if (key->address == address && key->process == process)
			break;
	}
	return at;
}

static void widen(struct addresses *table)
{
	free(table->buckets);
	table->bucket_count = table->bucket_count ? table->bucket_count * 2 : 64;
	table->buckets = memory_new(table->bucket_count, sizeof(*table->buckets));
	for (size_t i = 0; i < table->count; i++)
		table->buckets[bucket_of(table, table->keys[i].process, table->keys[i].address)] =
			(uint32_t)i + 1;
}

uint32_t addresses_add(struct addresses *table, uint32_t process, uint64_t address)
{
	process = process_of(process, address);
	if (2 * (table->count + 1) > table->bucket_count)
		widen(table);
	size_t bucket = bucket_of(table, process, address);
	if (!table->buckets[bucket]) {
		table->keys = memory_grow(table->keys, &table->capacity, table->count + 1,
					  sizeof(*table->keys));
		table->keys[table->count++] = (struct address_key){ address, process };
		table->buckets[bucket] = (uint32_t)table->count;
	}
	assert(table->buckets[bucket] <= table->count);
	return table->buckets[bucket] - 1;
}

uint32_t addresses_find(const struct addresses *table, uint32_t process, uint64_t address)
{
	if (!table->count)
		return NO_INDEX;
	size_t bucket = bucket_of(table, process_of(process, address), address);

	return table->buckets[bucket] ? table->buckets[bucket] - 1 : NO_INDEX;
}

void addresses_free(struct addresses *table)
{
	free(table->keys);
	free(table->buckets);
	memset(table, 0, sizeof(*table));
}
