/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watched addresses: a hash table of struct watch in the arena. See watch.h.
 *
 * Open addressing, WATCHES_MAX entries, at most PROBES_MAX steps. Reading takes no lock: the key
 * `address` is stored last, with release order. A filter answers first, in one load, for addresses
 * that were never watched.
 *
 * `watch_lock` keeps two threads from making two entries of one object. It is held for a few
 * hundred nanoseconds. A thread that does not get it soon goes without (counted). The entry of a
 * thread or a child is only ever made by one thread, and without the lock. While hundreds of
 * threads begin at once, the one that has it may not run. So a place is claimed (WATCH_CLAIMED)
 * before it is filled. A thread that leaves by longjmp in between, from a signal handler, costs the
 * table that place.
 *
 * An entry that was forgotten keeps its key, type WATCH_FREE, so that probing goes on beyond it,
 * until another address takes it over. Whoever still has a pointer to it then uses a destroyed
 * object: the record that comes of it names the wrong lock, and nothing worse.
 */
#include "watch.h"

#include <assert.h>
#include <dlfcn.h>
#include <link.h>

#include "arena.h"
#include "chunk.h"
#include "clock.h"
#include "opening.h"
#include "self.h"
#include "spare.h"
#include "strings.h"
#include "syscalls.h"
#include "text.h"

#include "in_target.h"

/* Each failed claim is one of another thread's that went well. */
enum { NAME_BYTES = 256, PROBES_MAX = 64, CLAIMS_TRIED = 64, LOCK_SPINS = 200, LOCK_YIELDS = 64 };

_Static_assert(sizeof(struct watch) == 88, "ARENA_WATCHES counts on it");
_Static_assert((WATCHES_MAX & (WATCHES_MAX - 1)) == 0, "entries are chosen by mask");

uint32_t recorder_holds = HOLDS_CONTENDED;

static uint32_t hash_address(uint64_t address)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 40);
}

static struct watch *entry_at(const struct arena *arena, uint32_t index)
{
	return (struct watch *)arena_at(arena, ARENA_WATCHES) + index % WATCHES_MAX;
}

static bool is_readable(const struct arena *arena, const struct watch *watch)
{
	uint64_t offset = (uint64_t)((const char *)watch - (const char *)arena);

	return arena_granule_is_ready(arena, offset / ARENA_GRANULE_BYTES) &&
	       arena_granule_is_ready(arena, (offset + sizeof(*watch) - 1) / ARENA_GRANULE_BYTES);
}

static bool filter_has(const struct arena *arena, uint32_t hash)
{
	return load_relaxed(&arena->watch_filter[hash % WATCH_FILTER_BITS / 8]) >> (hash % 8) & 1;
}

/* --- Finding --------------------------------------------------------------------------------- */

/* Acquire: pairs with watch_forget(); a thread that does not find a child any more sees its
 * record. */
static inline bool is_used(const struct watch *watch)
{
	uint8_t type = load_acquire(&watch->type);

	return type != WATCH_FREE && type != WATCH_CLAIMED;
}

static struct watch *find(const struct arena *arena, uint64_t address, uint32_t hash)
{
	for (uint32_t probe = 0; probe < PROBES_MAX; probe++) {
		struct watch *watch = entry_at(arena, hash + probe);
		uint64_t key;

		if (!is_readable(arena, watch))
			return NULL;
		/* Pairs with fill(): an entry with the key has all but its type. */
		key = load_acquire(&watch->address);
		if (key == address)
			return watch;
		/* A place that is just claimed has no key yet, and there may be more behind it. */
		if (key == 0 && load_acquire(&watch->type) == WATCH_FREE)
			return NULL;
	}
	return NULL;
}

static inline struct watch *find_used(const struct arena *arena, uint64_t address)
{
	uint32_t hash = hash_address(address);
	struct watch *watch;

	if (LIKELY(!arena || !filter_has(arena, hash)))
		return NULL;
	watch = find(arena, address, hash);
	return watch && is_used(watch) ? watch : NULL;
}

struct watch *watch_find(const void *address)
{
	return find_used(load_relaxed(&recorder_arena), (uint64_t)(uintptr_t)address);
}

const struct watch *watch_find_in(const struct arena *arena, uint64_t address)
{
	return find_used(arena, address);
}

struct watch *watch_at(const struct arena *arena, uint32_t index)
{
	struct watch *watch = entry_at(arena, index);
	bool is_there = index < WATCHES_MAX && is_readable(arena, watch);

	return is_there && load_acquire(&watch->address) != 0 && is_used(watch) ? watch : NULL;
}

uint32_t watch_next(const struct arena *arena, uint32_t index)
{
	return arena_next_ready(arena, ARENA_WATCHES, sizeof(struct watch), index, WATCHES_MAX);
}

uint64_t watch_hold_at(const struct arena *arena, int32_t index)
{
	const struct watch *watch = entry_at(arena, (uint32_t)index);
	bool is_there = index >= 0 && index < WATCHES_MAX && is_readable(arena, watch);

	/* Pairs with hold_release(): who sees that it is released sees where it is now. */
	return is_there ? load_acquire(&watch->holder_op) : 0;
}

/* --- Names ----------------------------------------------------------------------------------- */

extern int _dl_find_object(void *, struct dl_find_object *) __attribute__((weak));

static const char *const type_names[] = {
	[WATCH_FREE] = "",     [WATCH_MUTEX] = "mutex", [WATCH_RWLOCK] = "rwlock",
	[WATCH_COND] = "cond", [WATCH_SEM] = "sem",     [WATCH_BARRIER] = "barrier",
	[WATCH_ONCE] = "once", [WATCH_FUTEX] = "futex",
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "mutex server+0x40c0" where a loaded object has the address (no lock is taken to find out), else
 * "mutex 0x7f12…". */
static void put_name(struct text *text, const struct arena *arena, uint64_t address,
		     enum watch_type type)
{
	struct dl_find_object found;
	void *at = (void *)(uintptr_t)address;

	text_put(text, type_names[type]);
	if (_dl_find_object && _dl_find_object(at, &found) == 0) {
		const char *path = found.dlfo_link_map->l_name;

		text_put_literal(text, " ");
		text_put(text, base_name(path[0] ? path : arena->exe));
		text_put_literal(text, "+0x");
		address -= found.dlfo_link_map->l_addr;
	} else {
		text_put_literal(text, " 0x");
	}
	text_put_hex_u64(text, address);
}

static uint32_t make_name(struct arena *arena, uint64_t address, enum watch_type type)
{
	struct text text = { .bytes = spare_borrow(), .size = NAME_BYTES };
	uint32_t name;

	assert(type != WATCH_THREAD && type != WATCH_CHILD);
	if (!text.bytes)
		return 0;
	put_name(&text, arena, address, type);
	name = strings_intern(arena, text.bytes, text.used);
	spare_return(text.bytes);
	return name;
}

/* --- Making and forgetting ------------------------------------------------------------------- */

static bool lock_table(struct arena *arena, uint32_t me)
{
	for (int try = 0; try < LOCK_SPINS + LOCK_YIELDS; try++) {
		uint32_t owner = 0;

		/* Pairs with make_locked(): the owner before has made its entry. */
		if (cas_acq_rel(&arena->watch_lock, &owner, me))
			return true;
		/* It was this thread's already: a signal handler left by longjmp in the middle. */
		if (owner == me)
			return true;
		if (try < LOCK_SPINS)
			__builtin_ia32_pause();
		else
			sys_yield();
	}
	return false;
}

static void watch_clear(struct watch *watch)
{
	store_relaxed(&watch->holder_op, 0);
	store_relaxed(&watch->holder_parent, 0);
	store_relaxed(&watch->holder_start, 0);
	store_relaxed(&watch->last_op, 0);
	store_relaxed(&watch->last_ticks, 0);
	store_relaxed(&watch->holder_stack, 0);
	store_relaxed(&watch->holder_opening, 0);
	store_relaxed(&watch->hold_count, 0);
	store_relaxed(&watch->waiters, 0);
	store_relaxed(&watch->holder_relock, 0);
	store_relaxed(&watch->holder_flags, 0);
	store_relaxed(&watch->initial, 0);
	store_relaxed(&watch->sharing, (uint8_t)SHARING_NONE);
}

/* The address's own entry, else the first that is free on its way; NULL: none. One that is claimed
 * is about to be another's. */
static struct watch *find_place(struct arena *arena, uint64_t address, uint32_t hash)
{
	struct watch *place = NULL;

	for (uint32_t probe = 0; probe < PROBES_MAX; probe++) {
		struct watch *watch = entry_at(arena, hash + probe);
		uint64_t offset = (uint64_t)((char *)watch - (char *)arena);
		uint64_t key;
		uint8_t type;

		if (!arena_ready(arena, offset, sizeof(*watch)))
			return place;
		key = load_acquire(&watch->address);
		type = load_acquire(&watch->type);
		if (key == address && type != WATCH_CLAIMED)
			return watch;
		if (!place && type == WATCH_FREE)
			place = watch;
		if (key == 0 && type == WATCH_FREE)
			return place;
	}
	return place;
}

static void fill(struct self *self, struct watch *watch, uint64_t address, enum watch_type type,
		 uint32_t ident)
{
	struct arena *arena = recorder_arena;
	uint32_t hash = hash_address(address);

	assert(load_relaxed(&watch->type) == WATCH_CLAIMED);
	watch_end_hold(self, watch, clock_now_ticks());
	watch_clear(watch);
	store_relaxed(&watch->ident, ident);
	store_relaxed(&watch->hot_ticks, clock_now_ticks());
	store_release(&watch->address, address);
	/* Last: pairs with the readers of the filter and of the type, who find the entry
	 * complete. */
	store_release(&watch->type, (uint8_t)type);
	or_release(&arena->watch_filter[hash % WATCH_FILTER_BITS / 8], (uint8_t)(1u << (hash % 8)));
}

static struct watch *make(struct self *self, uint64_t address, enum watch_type type, uint32_t ident)
{
	struct arena *arena = recorder_arena;

	for (int try = 0; try < CLAIMS_TRIED; try++) {
		struct watch *watch = find_place(arena, address, hash_address(address));
		uint8_t found = watch ? load_acquire(&watch->type) : (uint8_t)WATCH_FREE;

		if (!watch || (load_relaxed(&watch->address) == address && found == type))
			return watch;
		/* Acquire and release: whoever had the place is done with it, and whoever looks at
		 * it from here on sees that it is claimed. */
		if (found != WATCH_CLAIMED && cas_acq_rel(&watch->type, &found, WATCH_CLAIMED)) {
			fill(self, watch, address, type, ident);
			return watch;
		}
	}
	return NULL;
}

static struct watch *make_locked(struct self *self, uint64_t address, enum watch_type type)
{
	struct arena *arena = recorder_arena;
	uint32_t ident = make_name(arena, address, type);
	struct watch *watch = NULL;

	/* Makes the table's memory ready, which takes longer than anybody waits for the lock. */
	(void)find_place(arena, address, hash_address(address));
	if (lock_table(arena, self->thread)) {
		watch = make(self, address, type, ident);
		store_release(&arena->watch_lock, 0);
	}
	return watch;
}

struct watch *watch_get(struct self *self, const void *address, enum watch_type type)
{
	uint64_t key = (uint64_t)(uintptr_t)address;
	struct watch *watch = watch_find(address);

	assert(type != WATCH_FREE && type != WATCH_CLAIMED && address != NULL);
	if (LIKELY(watch && load_relaxed(&watch->type) == type))
		return watch;
	if (type == WATCH_THREAD || type == WATCH_CHILD)
		watch = make(self, key, type, 0);
	else
		watch = make_locked(self, key, type);
	if (!watch)
		self_count(self, COUNTER_dropped_watches);
	return watch;
}

static bool is_lock(const struct watch *watch)
{
	return load_relaxed(&watch->type) == WATCH_MUTEX ||
	       load_relaxed(&watch->type) == WATCH_RWLOCK;
}

/* A hold that was not seen to end stays until its thread comes by, or the next tenant. */
void watch_forget(const void *address)
{
	struct watch *watch = watch_find(address);

	if (!watch)
		return;
	/* Pairs with is_used(): the record of a child is published before. */
	if (!is_lock(watch))
		store_release(&watch->holder_op, 0);
	store_release(&watch->type, (uint8_t)WATCH_FREE);
}

uint64_t watch_child_op(const struct watch *watch)
{
	return load_acquire(&watch->holder_op) & ~HANDLE_ENDING;
}

uint64_t watch_end_child(struct self *self, struct watch *watch, enum outcome outcome,
			 uint64_t value, uint64_t end_ticks)
{
	/* Of two threads that wait for it, one writes the op. */
	uint64_t op = or_acq_rel(&watch->holder_op, HANDLE_ENDING);
	uint64_t start = load_relaxed(&watch->holder_start);
	struct record record = {
		.start = start,
		.end = end_ticks > start ? end_ticks : start,
		.id = op,
		.parent = load_relaxed(&watch->holder_parent),
		.value = value,
		.name = load_relaxed(&watch->initial),
		.ident = load_relaxed(&watch->ident),
		.stack = load_relaxed(&watch->holder_stack),
		.fd = -1,
		.type = RECORD_OP,
		.what = KIND_EXEC,
		.outcome = (uint8_t)outcome,
	};

	if (op == 0 || op & HANDLE_ENDING)
		return 0;
	(void)chunk_publish(self, &record);
	watch_forget((const void *)(uintptr_t)watch->address);
	chunk_settle(self);
	return op;
}

void watch_share(struct watch *watch)
{
	if (LIKELY(load_relaxed(&watch->sharing) != SHARING_NONE))
		return;
	store_relaxed(&watch->sharing, (uint8_t)SHARING_WANTED);
	/* Pairs with objects_place(): who sees the count sees the wish. */
	add_seq_cst(&recorder_arena->objects_wanted, 1);
}

/* --- Waiting --------------------------------------------------------------------------------- */

void watch_wait_begins(struct watch *watch)
{
	/* In one order with the holder's unlock: pairs with hold_release(). The waiter looks at the
	 * lock again after this; a holder that unlocked before that look is not waited for. */
	add_seq_cst(&watch->waiters, 1);
}

void watch_wait_ends(struct watch *watch)
{
	if (watch && load_relaxed(&watch->waiters) > 0)
		add_relaxed(&watch->waiters, UINT32_MAX);
}

/* --- Holding --------------------------------------------------------------------------------- */

uint64_t watch_holder(const struct watch *watch)
{
	/* Acquire: pairs with hold_release(): who sees that it is released sees where it is now. */
	return load_acquire(&watch->holder_op) & ~HANDLE_ENDING;
}

bool watch_is_holder(int32_t index, uint64_t op)
{
	assert(index >= 0 && index < WATCHES_MAX);
	return watch_holder(entry_at(recorder_arena, (uint32_t)index)) == op;
}

bool watch_take_hold(struct watch *watch, uint64_t op)
{
	/* Of those who would end it, one does. */
	return cas_acq_rel(&watch->holder_op, &op, op | HANDLE_ENDING);
}

/* Nobody has released it: then its end is where its start was. Unless the next one has begun. */
static void note_end(struct watch *watch, uint64_t start_ticks, uint64_t end_ticks)
{
	(void)cas_acq_rel(&watch->holder_start, &start_ticks, end_ticks);
}

bool watch_take_hold_at(int32_t index, uint64_t op, uint64_t start_ticks, uint64_t end_ticks)
{
	struct watch *watch = index >= 0 ? entry_at(recorder_arena, (uint32_t)index) : NULL;

	if (watch && !watch_take_hold(watch, op))
		return false;
	if (watch)
		note_end(watch, start_ticks, end_ticks);
	return true;
}

static void drop_holder(struct watch *watch, uint64_t op)
{
	uint64_t taken = op | HANDLE_ENDING;

	/* Release: pairs with watch_holder(); the record is published. The next may hold it. */
	(void)cas_acq_rel(&watch->holder_op, &taken, 0);
}

void watch_drop_holder(int32_t index, uint64_t op)
{
	if (index >= 0)
		drop_holder(entry_at(recorder_arena, (uint32_t)index), op);
}

void watch_end_hold(struct self *self, struct watch *watch, uint64_t now_ticks)
{
	uint64_t op = load_acquire(&watch->holder_op);
	uint64_t start = load_relaxed(&watch->holder_start);
	uint64_t cut = opening_cut(recorder_arena, load_relaxed(&watch->holder_opening), start);
	uint64_t end = now_ticks > start ? now_ticks : start;
	struct record record = {
		.start = start,
		/* Not after the next one begins, though it may have been cut off by now. */
		.end = cut != 0 && cut < end ? cut : end,
		.id = op,
		.parent = load_relaxed(&watch->holder_parent),
		.value = watch->address,
		.name = load_relaxed(&watch->ident),
		.stack = load_relaxed(&watch->holder_stack),
		.count = load_relaxed(&watch->hold_count),
		.fd = -1,
		.type = RECORD_OP,
		.what = KIND_HOLD,
		.flags = load_relaxed(&watch->holder_flags),
	};

	if (op == 0 || op & HANDLE_ENDING || !watch_take_hold(watch, op))
		return;
	note_end(watch, start, record.end);
	(void)chunk_publish(self, &record);
	drop_holder(watch, op);
	chunk_settle(self);
}
