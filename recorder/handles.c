/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops and waits by handle. See handles.h.
 *
 * An entry's `handle` is 0 while it is free, HANDLE_CLAIMED while a thread fills it in, else the
 * handle that it belongs to. HANDLE_ENDING is set in that while the thread that has taken it writes
 * its record. The place of a handle is the first free one of PROBES_MAX, from where the handle
 * says. So it may be behind free ones, and a search looks at all. The drainer reads `handle`, the
 * fields, and `handle` again, as in the slots of threads.
 */
#include "handles.h"

#include <assert.h>

#include "in_target.h"

enum { PROBES_MAX = 64 };

_Static_assert((HANDLES_MAX & (HANDLES_MAX - 1)) == 0, "entries are chosen by mask");

union record_words {
	struct record record;
	uint64_t words[sizeof(struct record) / sizeof(uint64_t)];
};

static uint64_t offset_of(uint32_t index)
{
	assert(index < HANDLES_MAX);
	return ARENA_HANDLES + (uint64_t)index * sizeof(struct open_entry);
}

/* Handles of one thread follow each other; those of different threads lie apart. */
static uint32_t place_of(uint64_t handle, uint32_t probe)
{
	uint32_t thread = (uint32_t)(handle >> 32);

	return ((uint32_t)handle + thread * UINT32_C(0x9e3779b1) + probe) % HANDLES_MAX;
}

static bool is_readable(const struct arena *arena, uint32_t index)
{
	uint64_t offset = offset_of(index);

	return arena_granule_is_ready(arena, offset / ARENA_GRANULE_BYTES) &&
	       arena_granule_is_ready(arena, (offset + sizeof(struct open_entry) - 1) /
						     ARENA_GRANULE_BYTES);
}

static struct open_entry *entry_at(const struct arena *arena, uint32_t index)
{
	return arena_at(arena, offset_of(index));
}

/* Release, each of them: a drainer that sees any of it sees that the last tenant's handle is
 * gone. */
static void fill_in(struct open_entry *entry, const struct record *record)
{
	const union record_words *from = (const union record_words *)record;
	union record_words *to = (union record_words *)&entry->record;

	for (unsigned i = 0; i < sizeof(from->words) / sizeof(from->words[0]); i++)
		store_release(&to->words[i], from->words[i]);
}

uint32_t handles_add(struct arena *arena, uint64_t handle, const struct record *record)
{
	assert(handle > HANDLE_CLAIMED);
	for (uint32_t probe = 0; probe < PROBES_MAX; probe++) {
		uint32_t index = place_of(handle, probe);
		struct open_entry *entry = entry_at(arena, index);
		uint64_t free_one = 0;

		if (!arena_ready(arena, offset_of(index), sizeof(*entry)))
			return HANDLE_NONE;
		if (load_relaxed(&entry->handle) != 0 ||
		    !cas_acq_rel(&entry->handle, &free_one, HANDLE_CLAIMED))
			continue;
		fill_in(entry, record);
		/* Pairs with load_acquire in handles_at() and the drainer: the record is there. */
		store_release(&entry->handle, handle);
		return index;
	}
	return HANDLE_NONE;
}

uint32_t handles_find(const struct arena *arena, uint64_t handle)
{
	for (uint32_t probe = 0; handle > HANDLE_CLAIMED && probe < PROBES_MAX; probe++) {
		uint32_t index = place_of(handle, probe);

		if (!is_readable(arena, index))
			return HANDLE_NONE;
		/* Pairs with the store that ends handles_add(). */
		if (load_acquire(&entry_at(arena, index)->handle) == handle)
			return index;
	}
	return HANDLE_NONE;
}

bool handles_has(const struct arena *arena, uint32_t index, uint64_t handle)
{
	return is_readable(arena, index) && load_acquire(&entry_at(arena, index)->handle) == handle;
}

uint32_t handles_take(struct arena *arena, uint64_t handle, struct record *record)
{
	uint32_t index = handles_find(arena, handle);
	struct open_entry *entry;

	if (index == HANDLE_NONE)
		return HANDLE_NONE;
	entry = entry_at(arena, index);
	/* One of several that end it at once goes on. */
	if (!cas_acq_rel(&entry->handle, &handle, handle | HANDLE_ENDING))
		return HANDLE_NONE;
	*record = entry->record;
	return index;
}

void handles_drop(struct arena *arena, uint32_t index)
{
	struct open_entry *entry = entry_at(arena, index);

	assert(load_relaxed(&entry->handle) & HANDLE_ENDING);
	/* Pairs with handles_add(): the next tenant writes after this one has read; and with the
	 * drainer: who finds no entry finds the record. */
	store_release(&entry->handle, 0);
}

struct open_entry *handles_at(const struct arena *arena, uint32_t index)
{
	struct open_entry *entry = entry_at(arena, index);

	return is_readable(arena, index) && load_acquire(&entry->handle) > HANDLE_CLAIMED ? entry
											  : NULL;
}

uint32_t handles_next(const struct arena *arena, uint32_t index)
{
	return arena_next_ready(arena, ARENA_HANDLES, sizeof(struct open_entry), index,
				HANDLES_MAX);
}
