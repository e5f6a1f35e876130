/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of small sets with open addressing; never shrinks. One thread. */
#include "scopes.h"

#include "base/memory.h"
#include "recording/recording.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* As many locks as a thread's open ops can be: the rest cannot matter. */
enum { SCOPE_LOCKS_MAX = 64 };

static uint64_t hash_of(uint32_t leaf, uint32_t place, const uint32_t *held, size_t count)
{
	uint64_t hash = (leaf ^ (uint64_t)place << 32) * 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ held[i]) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

static size_t bucket_of(const struct scopes *table, uint32_t leaf, uint32_t place,
			const uint32_t *held, size_t count)
{
	size_t at = hash_of(leaf, place, held, count) & (table->bucket_count - 1);

	for (; table->buckets[at]; at = (at + 1) & (table->bucket_count - 1)) {
		const struct scope *scope = &table->scopes[table->buckets[at] - 1];

		if (scope->leaf == leaf && scope->place == place && scope->count == count &&
		    (!count || !memcmp(table->classes + scope->first, held, count * sizeof(*held))))
			break;
	}
	return at;
}

static void widen(struct scopes *table)
{
	free(table->buckets);
	table->bucket_count = table->bucket_count ? table->bucket_count * 2 : 64;
	table->buckets = memory_new(table->bucket_count, sizeof(*table->buckets));
	for (size_t i = 0; i < table->count; i++) {
		const struct scope *scope = &table->scopes[i];

		table->buckets[bucket_of(table, scope->leaf, scope->place,
					 table->classes + scope->first, scope->count)] =
			(uint32_t)i + 1;
	}
}

static size_t sort_unique(uint32_t *values, size_t count)
{
	size_t kept = 0;

	for (size_t i = 1; i < count; i++)
		for (size_t j = i; j > 0 && values[j] < values[j - 1]; j--) {
			uint32_t swap = values[j];

			values[j] = values[j - 1];
			values[j - 1] = swap;
		}
	for (size_t i = 0; i < count; i++)
		if (!i || values[i] != values[i - 1])
			values[kept++] = values[i];
	return kept;
}

static uint32_t find_or_add(struct scopes *table, uint32_t leaf, uint32_t place,
			    const uint32_t *held, size_t held_count)
{
	if (2 * (table->count + 1) > table->bucket_count)
		widen(table);
	size_t bucket = bucket_of(table, leaf, place, held, held_count);
	if (!table->buckets[bucket]) {
		table->scopes = memory_grow(table->scopes, &table->capacity, table->count + 1,
					    sizeof(*table->scopes));
		table->classes =
			memory_grow(table->classes, &table->class_capacity,
				    table->class_count + held_count, sizeof(*table->classes));
		if (held_count)
			memcpy(table->classes + table->class_count, held,
			       held_count * sizeof(*held));
		table->scopes[table->count++] =
			(struct scope){ leaf, (uint32_t)table->class_count, (uint32_t)held_count,
					place, NO_INDEX };
		table->class_count += held_count;
		table->buckets[bucket] = (uint32_t)table->count;
	}
	assert(table->buckets[bucket] <= table->count);
	return table->buckets[bucket] - 1;
}

uint32_t scopes_add(struct scopes *table, uint32_t leaf, uint32_t *held, size_t held_count)
{
	assert(held_count <= SCOPE_LOCKS_MAX);
	return find_or_add(table, leaf, 0, held, sort_unique(held, held_count));
}

uint32_t scopes_add_place(struct scopes *table, uint32_t scope, uint32_t place)
{
	assert(scope < table->count);
	struct scope like = table->scopes[scope];
	uint32_t held[SCOPE_LOCKS_MAX];

	/* copied: the array may move */
	like.count = like.count < SCOPE_LOCKS_MAX ? like.count : SCOPE_LOCKS_MAX;
	for (uint32_t i = 0; i < like.count; i++)
		held[i] = table->classes[like.first + i];
	assert(place != 0);
	uint32_t added = find_or_add(table, like.leaf, place, held, like.count);
	if (table->scopes[added].parent == NO_INDEX)
		table->scopes[added].parent = scope;
	return added;
}

void scopes_free(struct scopes *table)
{
	free(table->scopes);
	free(table->classes);
	free(table->buckets);
	memset(table, 0, sizeof(*table));
}
