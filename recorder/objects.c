/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the mappings in which shared objects lie. See objects.h.
 *
 * One pass over the mappings for all that are wanted. An object in private memory, whatever its
 * attributes say, is this process's alone. So is one that cannot be placed any more, because it was
 * unmapped meanwhile: it is counted. An object whose memory becomes another one's while it is
 * watched keeps its first place. The program that reuses the memory calls init, which makes it a
 * new watch.
 */
#include "objects.h"

#include "maps.h"
#include "spare.h"
#include "watch.h"

#include "in_target.h"

enum { WANTED_MAX = 256 }; /* at a time; the rest waits for the next one */

struct wish {
	struct watch *watch;
	uint64_t address;
};

static uint32_t collect(const struct arena *arena, struct wish *wishes)
{
	uint32_t count = 0;

	for (uint32_t i = watch_next(arena, 0); i < WATCHES_MAX && count < WANTED_MAX;
	     i = watch_next(arena, i + 1)) {
		struct watch *watch = watch_at(arena, i);

		if (watch && load_relaxed(&watch->sharing) == SHARING_WANTED)
			wishes[count++] = (struct wish){ watch, load_relaxed(&watch->address) };
	}
	return count;
}

static void add(struct arena *arena, const struct wish *wish, const struct mapping *mapping)
{
	uint32_t count = arena->object_count;
	uint64_t at = ARENA_OBJECTS + (uint64_t)count * sizeof(struct object_entry);

	if (count == OBJECTS_MAX || !arena_ready(arena, at, sizeof(struct object_entry))) {
		arena_count(arena, COUNTER_unplaced_objects);
		return;
	}
	*(struct object_entry *)arena_at(arena, at) = (struct object_entry){
		.address = wish->address,
		.since = load_relaxed(&wish->watch->hot_ticks),
		.device = mapping->device,
		.inode = mapping->inode,
		.offset = mapping->offset + (wish->address - mapping->start),
	};
	/* Pairs with whoever reads the table: an entry below the count is complete. */
	store_release(&arena->object_count, count + 1);
}

static void place(struct arena *arena, struct wish *wishes, uint32_t count,
		  const struct mapping *mapping)
{
	for (uint32_t i = 0; i < count; i++) {
		if (wishes[i].address < mapping->start || wishes[i].address >= mapping->end)
			continue;
		if (mapping->is_shared)
			add(arena, &wishes[i], mapping);
		wishes[i].address = 0;
	}
}

static uint32_t place_some(struct arena *arena)
{
	struct wish wishes[WANTED_MAX];
	uint32_t count = collect(arena, wishes);
	struct mapping mapping;
	struct maps maps;

	if (count == 0 || !maps_open(&maps))
		return 0;
	while (maps_next(&maps, &mapping))
		place(arena, wishes, count, &mapping);
	maps_close(&maps);
	for (uint32_t i = 0; i < count; i++) {
		store_relaxed(&wishes[i].watch->sharing, (uint8_t)SHARING_KNOWN);
		if (wishes[i].address != 0)
			arena_count(arena, COUNTER_unplaced_objects);
	}
	return count;
}

static void place_all(void *arena)
{
	while (place_some(arena) == WANTED_MAX)
		;
}

void objects_place(struct arena *arena)
{
	/* Pairs with watch_share(). */
	uint32_t wanted = load_seq_cst(&arena->objects_wanted);

	if (wanted == arena->objects_sought)
		return;
	spare_call_surely(place_all, arena);
	store_relaxed(&arena->objects_sought, wanted);
}
