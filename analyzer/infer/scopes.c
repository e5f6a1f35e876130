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

/* A scope differs from all others by these. */
struct key {
	uint32_t leaf;
	uint32_t context;
	uint32_t place;
	const uint32_t *held;
	size_t count;
};

static uint64_t hash_of(const struct key *key)
{
	uint64_t hash = (key->leaf ^ (uint64_t)key->place << 32) * 0x9e3779b97f4a7c15u;

	hash = (hash ^ key->context) * 0x9e3779b97f4a7c15u;
	for (size_t i = 0; i < key->count; i++)
		hash = (hash ^ key->held[i]) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

static struct key key_of(const struct scopes *table, const struct scope *scope)
{
	const uint32_t *held = scope->count ? table->classes + scope->first : NULL;

	return (struct key){ scope->leaf, scope->context, scope->place, held, scope->count };
}

static size_t bucket_of(const struct scopes *table, const struct key *key)
{
	size_t at = hash_of(key) & (table->bucket_count - 1);

	for (; table->buckets[at]; at = (at + 1) & (table->bucket_count - 1)) {
		const struct scope *scope = &table->scopes[table->buckets[at] - 1];

		if (scope->leaf == key->leaf && scope->context == key->context &&
		    scope->place == key->place && scope->count == key->count &&
		    (!key->count || !memcmp(table->classes + scope->first, key->held,
					    key->count * sizeof(*key->held))))
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
		const struct key key = key_of(table, &table->scopes[i]);

		table->buckets[bucket_of(table, &key)] = (uint32_t)i + 1;
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

static uint32_t find_or_add(struct scopes *table, const struct key *key)
{
	if (2 * (table->count + 1) > table->bucket_count)
		widen(table);
	size_t bucket = bucket_of(table, key);
	if (!table->buckets[bucket]) {
		table->scopes = memory_grow(table->scopes, &table->capacity, table->count + 1,
					    sizeof(*table->scopes));
		table->classes =
			memory_grow(table->classes, &table->class_capacity,
				    table->class_count + key->count, sizeof(*table->classes));
		if (key->count)
			memcpy(table->classes + table->class_count, key->held,
			       key->count * sizeof(*key->held));
		table->scopes[table->count++] = (struct scope){ key->leaf,
								(uint32_t)table->class_count,
								(uint32_t)key->count,
								key->context,
								key->place,
								NO_INDEX };
		table->class_count += key->count;
		table->buckets[bucket] = (uint32_t)table->count;
	}
	assert(table->buckets[bucket] <= table->count);
	return table->buckets[bucket] - 1;
}

uint32_t scopes_add(struct scopes *table, uint32_t leaf, uint32_t *held, size_t held_count)
{
	assert(held_count <= SCOPE_LOCKS_MAX);
	return find_or_add(table, &(struct key){ leaf, 0, 0, held, sort_unique(held, held_count) });
}

static uint32_t add_part(struct scopes *table, uint32_t scope, uint32_t context, uint32_t place)
{
	assert(scope < table->count);
	struct key key = key_of(table, &table->scopes[scope]);
	uint32_t held[SCOPE_LOCKS_MAX];

	/* copied: the array may move */
	key.count = key.count < SCOPE_LOCKS_MAX ? key.count : SCOPE_LOCKS_MAX;
	for (uint32_t i = 0; i < key.count; i++)
		held[i] = key.held[i];
	key.held = held;
	key.context = context;
	key.place = place;
	uint32_t added = find_or_add(table, &key);
	if (table->scopes[added].parent == NO_INDEX && added != scope)
		table->scopes[added].parent = scope;
	return added;
}

uint32_t scopes_add_context(struct scopes *table, uint32_t scope, uint32_t context)
{
	assert(scope < table->count && !table->scopes[scope].place);
	return add_part(table, scope, context, 0);
}

uint32_t scopes_add_place(struct scopes *table, uint32_t scope, uint32_t place)
{
	assert(scope < table->count && place != 0);
	return add_part(table, scope, table->scopes[scope].context, place);
}

void scopes_free(struct scopes *table)
{
	free(table->scopes);
	free(table->classes);
	free(table->buckets);
	memset(table, 0, sizeof(*table));
}
