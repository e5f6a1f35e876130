/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing that keeps ids which count upwards close together.
 *
 * Ids that differ only in their low ten bits begin in the same run of 1024 slots, each at its own
 * place. The run's hash turns the place where an id begins, so that few ids in each of many runs
 * are spread as well. If a slot is taken, the next is one run and one slot further, so that
 * neighbours move on together. That step is odd, so it leads through the whole table. The table is
 * at most half full: a search always ends.
 */
#include "idmap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_SLOTS = 1024, STEP_SLOTS = RUN_SLOTS + 1, SLOTS_FIRST = 64 };

static size_t first_slot(uint64_t id, size_t mask)
{
	uint64_t hash = (id / RUN_SLOTS) * 0x9e3779b97f4a7c15u;

	return ((size_t)(hash >> 32) * RUN_SLOTS + (id + (hash >> 24)) % RUN_SLOTS) & mask;
}

/* The table's indexes in twice as many slots, or NULL. */
static uint32_t *spread(const struct idmap_space *space, const uint64_t *ids, size_t slot_count)
{
	uint32_t *slots = malloc(slot_count * sizeof(*slots));
	size_t mask = slot_count - 1;
	size_t old, i;

	if (!slots)
		return NULL;
	memset(slots, 0xff, slot_count * sizeof(*slots));
	for (old = 0; old < space->slot_count; old++) {
		if (space->slots[old] == NO_INDEX)
			continue;
		i = first_slot(ids[space->slots[old]], mask);
		while (slots[i] != NO_INDEX)
			i = (i + STEP_SLOTS) & mask;
		slots[i] = space->slots[old];
	}
	return slots;
}

static bool space_grow(struct idmap_space *space, const uint64_t *ids)
{
	size_t slot_count = space->slot_count ? space->slot_count * 2 : SLOTS_FIRST;
	uint32_t *slots = spread(space, ids, slot_count);

	if (!slots)
		return false;
	free(space->slots);
	space->slots = slots;
	space->slot_count = slot_count;
	return true;
}

static bool spaces_grow(struct idmap *map, uint32_t space)
{
	size_t count = (size_t)space + 1;
	struct idmap_space *spaces = realloc(map->spaces, count * sizeof(*spaces));

	if (!spaces)
		return false;
	memset(spaces + map->space_count, 0, (count - map->space_count) * sizeof(*spaces));
	map->spaces = spaces;
	map->space_count = count;
	return true;
}

static bool ids_grow(struct idmap *map)
{
	size_t capacity = map->id_capacity ? map->id_capacity * 2 : SLOTS_FIRST;
	uint64_t *ids;

	if (capacity >= NO_INDEX)
		return false;
	ids = realloc(map->ids, capacity * sizeof(*ids));
	if (!ids)
		return false;
	map->ids = ids;
	map->id_capacity = capacity;
	return true;
}

uint32_t idmap_index(struct idmap *map, uint32_t space, uint64_t id)
{
	struct idmap_space *table;
	size_t mask, i;

	if (space >= map->space_count && !spaces_grow(map, space))
		return NO_INDEX;
	table = &map->spaces[space];
	if (table->id_count * 2 >= table->slot_count && !space_grow(table, map->ids))
		return NO_INDEX;
	mask = table->slot_count - 1;
	for (i = first_slot(id, mask); table->slots[i] != NO_INDEX; i = (i + STEP_SLOTS) & mask)
		if (map->ids[table->slots[i]] == id)
			return table->slots[i];
	if (map->id_count == map->id_capacity && !ids_grow(map))
		return NO_INDEX;
	assert(map->id_count < NO_INDEX);
	map->ids[map->id_count] = id;
	table->slots[i] = (uint32_t)map->id_count++;
	table->id_count++;
	return table->slots[i];
}

void idmap_free(struct idmap *map)
{
	size_t i;

	for (i = 0; i < map->space_count; i++)
		free(map->spaces[i].slots);
	free(map->spaces);
	free(map->ids);
	*map = (struct idmap){ 0 };
}
