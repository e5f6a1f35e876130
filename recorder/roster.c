/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads' slots. See roster.h and struct slot in format.h.
 */
#include "roster.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "chunk.h"
#include "clock.h"
#include "op.h"
#include "owncost.h"
#include "pool.h"
#include "strings.h"
#include "syscalls.h"
#include "tasks.h"

#include "in_target.h"

static const struct pool_items slot_items = { ARENA_ROSTER, SLOT_BYTES };

struct slot *roster_claim(struct arena *arena, uint32_t thread, uint32_t tid, uint64_t op)
{
	uint32_t index = pool_take(arena, &arena->slots, slot_items);
	struct slot *slot;

	assert(thread > 0);
	if (index == POOL_NONE)
		return NULL;
	slot = roster_slot(arena, index);
	store_relaxed(&slot->tid, tid);
	store_relaxed(&slot->chunk, 0);
	store_relaxed(&slot->chunk_from, 0);
	store_relaxed(&slot->delay_ns, 0);
	store_relaxed(&slot->last_ticks, 0);
	slot->context = (struct thread_context){ 0 };
	memset(slot->clock_places, 0, sizeof(slot->clock_places));
	store_relaxed(&slot->op, op);
	/* Pairs with the drainer's load: a slot with a thread has the rest. */
	store_release(&slot->thread, thread);
	return slot;
}

void roster_release(struct arena *arena, struct slot *slot)
{
	uint64_t index = ((uint64_t)((char *)slot - (char *)arena) - ARENA_ROSTER) / SLOT_BYTES;

	assert(index < ROSTER_SLOTS && load_relaxed(&slot->thread) > 0);
	store_relaxed(&slot->thread, 0);
	for (int i = 0; i < SLOT_ENTRIES; i++)
		store_release(&slot->entries[i].handle, 0);
	/* An exchange: a reader of the sum may miss a count for a moment, and none is taken
	 * twice. */
	for (int i = 0; i < COUNTER_COUNT; i++)
		add_relaxed(&arena->counters[i], exchange_acq_rel(&slot->counters[i], 0));
	owncost_thread_ends(arena, slot);
	pool_give(arena, &arena->slots, slot_items, (uint32_t)index);
}

uint64_t roster_counter(const struct arena *arena, enum counter counter)
{
	uint64_t sum = load_relaxed(&arena->counters[counter]);
	uint32_t made = roster_made(arena);

	assert(counter < COUNTER_COUNT);
	for (uint32_t i = 0; i < made; i++)
		sum += load_relaxed(&roster_slot(arena, i)->counters[counter]);
	return sum;
}

uint32_t roster_living(const struct arena *arena)
{
	uint32_t living = 0;

	for (uint32_t i = 0; i < roster_made(arena); i++)
		living += load_relaxed(&roster_slot(arena, i)->thread) != 0;
	return living;
}

bool roster_has(const struct arena *arena, uint64_t op)
{
	for (uint32_t i = 0; i < roster_made(arena); i++) {
		const struct slot *slot = roster_slot(arena, i);

		if (load_acquire(&slot->thread) != 0 && load_relaxed(&slot->op) == op)
			return true;
	}
	return false;
}

/* The dead thread's own state, as far as its slot tells it: the drainer writes in its name. */
static void bury(struct arena *arena, struct slot *slot)
{
	static struct self dead; /* one drainer at a time; the program's stack is small */
	uint32_t chunk = load_acquire(&slot->chunk);

	dead = (struct self){ .slot = slot, .thread = slot->thread, .opening = slot->opening };
	if (chunk > 0) {
		dead.chunk = chunk_at(arena, chunk - 1);
		/* Pairs with chunk_publish() of the dead thread. */
		dead.position = load_acquire(&dead.chunk->published);
		/* It died between its last record and giving the chunk up. */
		if (chunk_has_no_room(dead.position))
			dead.chunk = NULL;
	}
	while (dead.depth < SLOT_ENTRIES && load_acquire(&slot->entries[dead.depth].handle) != 0)
		dead.depth++;
	self_come_back(&dead);
	op_end_all(&dead, clock_now_ticks(), OUTCOME_CANCELED,
		   strings_intern(arena, slot->name, strnlen(slot->name, sizeof(slot->name))));
	chunk_hand_over(&dead);
	roster_release(arena, slot);
}

void roster_note_names(struct arena *arena)
{
	uint32_t slots = roster_made(arena);

	assert(arena == recorder_arena);
	for (uint32_t i = 0; i < slots; i++) {
		struct slot *slot = roster_slot(arena, i);
		uint32_t thread = load_acquire(&slot->thread);
		char name[TASK_NAME_BYTES];

		if (thread != 0 && task_name(arena->pid, load_relaxed(&slot->tid), name) &&
		    load_acquire(&slot->thread) == thread)
			memcpy(slot->name, name, sizeof(slot->name));
	}
}

void roster_bury_dead(struct arena *arena)
{
	assert(arena == recorder_arena);
	for (uint32_t i = 0; i < roster_made(arena); i++) {
		struct slot *slot = roster_slot(arena, i);
		uint32_t thread = load_acquire(&slot->thread);
		uint32_t tid = load_relaxed(&slot->tid);

		/* A thread that is ending by itself has `thread` cleared before it can be gone. */
		if (thread != 0 && sys_tgkill((int)arena->pid, (int)tid, 0) == -ESRCH &&
		    load_acquire(&slot->thread) == thread)
			bury(arena, slot);
	}
}
