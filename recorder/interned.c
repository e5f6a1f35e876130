/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of distinct items in an arena. See interned.h.
 *
 * Open addressing over ids: a bucket goes from 0 to an id once. An item and its entry are complete
 * before the id is put into a bucket, by compare and swap. The thread that loses compares with the
 * winner's item.
 */
#include "interned.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "in_target.h"

enum { PROBES_MAX = 256 };

/* As struct string_entry and struct stack_entry are. */
struct interned_entry {
	uint32_t offset; /* in units, within the pool */
	uint32_t units;  /* 0: not there yet; stored last */
};

#define IS_ENTRY(type, units_member)                                                 \
	(sizeof(struct type) == sizeof(struct interned_entry) &&                     \
	 offsetof(struct type, offset) == offsetof(struct interned_entry, offset) && \
	 offsetof(struct type, units_member) == offsetof(struct interned_entry, units))
_Static_assert(IS_ENTRY(string_entry, bytes), "strings are a table of this kind");
_Static_assert(IS_ENTRY(stack_entry, count), "stacks are the same");

static uint64_t entry_offset(const struct interned_table *table, uint32_t id)
{
	return table->entries_at + (uint64_t)id * sizeof(struct interned_entry);
}

static struct interned_entry *entry_at(const struct arena *arena,
				       const struct interned_table *table, uint32_t id)
{
	return arena_at(arena, entry_offset(table, id));
}

static uint64_t pool_offset(const struct interned_table *table, uint32_t unit)
{
	return table->pool_at + (uint64_t)unit * table->unit_bytes;
}

uint32_t interned_add(struct arena *arena, const struct interned_table *table, const void *item,
		      uint32_t units)
{
	uint32_t *used = arena_at(arena, table->used_at);
	uint32_t *count = arena_at(arena, table->count_at);
	uint32_t taken = units + table->units_behind;
	uint32_t offset, id;

	assert(units > 0 && units <= table->units_max);
	/* Checked before the adding too, so that neither count can ever wrap. */
	if (load_relaxed(used) > table->pool_units - table->units_max - table->units_behind ||
	    load_relaxed(count) >= table->entries_max - 1)
		return 0;
	offset = add_relaxed(used, taken);
	if (offset > table->pool_units - taken ||
	    !arena_ready(arena, pool_offset(table, offset), (uint64_t)taken * table->unit_bytes))
		return 0;
	id = add_relaxed(count, 1) + 1;
	if (id >= table->entries_max ||
	    !arena_ready(arena, entry_offset(table, id), sizeof(struct interned_entry)))
		return 0;
	memcpy(arena_at(arena, pool_offset(table, offset)), item,
	       (size_t)units * table->unit_bytes);
	entry_at(arena, table, id)->offset = offset;
	/* Pairs with interned_get(): a length means that the rest is there. */
	store_release(&entry_at(arena, table, id)->units, units);
	return id;
}

uint32_t interned_count(const struct arena *arena, const struct interned_table *table)
{
	const uint32_t *at = arena_at(arena, table->count_at);
	/* Pairs with none: each entry says itself whether it is there. */
	uint32_t count = load_relaxed(at);

	return count < table->entries_max ? count : table->entries_max - 1;
}

/* In a torn arena of another process an entry may say anything. */
static bool is_within(const struct interned_table *table, uint32_t offset, uint32_t units)
{
	return units <= table->units_max && offset <= table->pool_units - units;
}

bool interned_is_valid(const struct arena *arena, const struct interned_table *table)
{
	uint32_t count = interned_count(arena, table);

	for (uint32_t id = 1; id <= count; id++) {
		const struct interned_entry *entry = entry_at(arena, table, id);

		if (!is_within(table, load_relaxed(&entry->offset), load_relaxed(&entry->units)))
			return false;
	}
	return true;
}

const void *interned_get(const struct arena *arena, const struct interned_table *table, uint32_t id,
			 uint32_t *units)
{
	uint32_t offset;

	*units = 0;
	if (id == 0 || id > interned_count(arena, table) ||
	    !arena_granule_is_ready(arena, entry_offset(table, id) / ARENA_GRANULE_BYTES))
		return NULL;
	/* Pairs with interned_add(). */
	*units = load_acquire(&entry_at(arena, table, id)->units);
	offset = load_relaxed(&entry_at(arena, table, id)->offset);
	if (!is_within(table, offset, *units))
		*units = 0;
	return *units ? arena_at(arena, pool_offset(table, offset)) : NULL;
}

static bool is_equal(const struct arena *arena, const struct interned_table *table, uint32_t id,
		     const void *item, uint32_t units)
{
	uint32_t other_units;
	const void *other = interned_get(arena, table, id, &other_units);

	return other_units == units && memcmp(other, item, (size_t)units * table->unit_bytes) == 0;
}

uint32_t interned_id(struct arena *arena, const struct interned_table *table, uint64_t hash,
		     const void *item, uint32_t units)
{
	uint32_t made = 0;

	assert(units <= table->units_max && (table->buckets & (table->buckets - 1)) == 0);
	if (units == 0)
		return 0;
	for (uint64_t probe = 0; probe < PROBES_MAX; probe++) {
		uint64_t offset =
			table->ids_at + ((hash + probe) & (table->buckets - 1)) * sizeof(uint32_t);
		uint32_t *bucket = arena_at(arena, offset);
		uint32_t found = 0;

		if (!arena_ready(arena, offset, sizeof(uint32_t)))
			break;
		/* Pairs with the exchange below, of another thread: the item is complete. */
		found = load_acquire(bucket);
		if (found == 0) {
			if (made == 0)
				made = interned_add(arena, table, item, units);
			if (made == 0)
				break;
			/* Pairs with the load above, of another thread. */
			if (cas_acq_rel(bucket, &found, made))
				return made;
		}
		if (is_equal(arena, table, found, item, units))
			return found;
	}
	arena_count(arena, table->full);
	return made;
}
