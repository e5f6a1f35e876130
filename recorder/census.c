/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that threads are inside of when recording begins. See census.h.
 *
 * All that takes long is asked before recording is turned on. After that one look at each thread's
 * CPU time says whether it is still in the same call: only then its entry is published. A thread
 * that comes by before that says so in the entry, and is inside of nothing. Whoever takes an entry
 * writes its record. Memory of a table is never given back: a thread may be looking at it yet.
 *
 * A thread that has a slot shows its call there, for dumps. It is there until its record is.
 */
#include "census.h"

#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "chunk.h"
#include "clock.h"
#include "found.h"
#include "gate.h"
#include "inside.h"
#include "mark.h"
#include "op.h"
#include "opening.h"
#include "reaped.h"
#include "roster.h"
#include "self.h"
#include "stack.h"
#include "stacks.h"
#include "switch.h"
#include "syscalls.h"
#include "tasks.h"
#include "unseen.h"
#include "watch.h"

#include "in_target.h"

enum { PLACES_LEAST = 64 };

/* The control thread fills an entry that is FREE, and has it while it is LOOKED_AT. One that is
 * INSIDE is its thread's or the control thread's: whose takes it. GONE: its thread has come by. */
enum { FREE, LOOKED_AT, INSIDE, TAKEN, GONE };

/* The control thread's; threads read what is not 0. */
static struct {
	uint32_t places; /* a power of 2 */
	struct inside *all;
	bool is_filled;
	uint64_t looked_ticks; /* by then all threads had been looked at */
	uint64_t opened_ticks;
} census;

/* The control thread's, for records that it writes: it is none of the threads of the arena. */
static struct slot notes;
static struct self writer = { .slot = &notes, .thread = UINT32_MAX };

/* The rest of its chunk is for others, and its counts are the process's. */
static void hand_over(void)
{
	chunk_hand_over(&writer);
	for (int i = 0; recorder_arena && i < COUNTER_COUNT; i++)
		add_relaxed(&recorder_arena->counters[i], exchange_acq_rel(&notes.counters[i], 0));
}

static struct inside *find(uint32_t tid)
{
	/* Pairs with make_room() and add_thread(): the table has that many places. */
	uint32_t places = load_acquire(&census.places);

	for (uint32_t i = 0; i < places; i++) {
		struct inside *inside = &census.all[(tid + i) % places];
		uint32_t found = load_acquire(&inside->tid);

		if (found == tid)
			return inside;
		if (found == 0)
			break;
	}
	return NULL;
}

/* As recording began. */
static void mark_slot(struct self *self, const struct slot *slot, const struct inside *inside)
{
	mark_of(self, load_relaxed(&slot->op), load_relaxed(&slot->delay_ns), inside->record.start,
		inside->cpu_ns);
}

/* --- Who has what it waits for --------------------------------------------------------------- */

static void note_owner(struct inside *waiting)
{
	uint32_t owner = inside_owner(waiting->record.value, waiting->lock);
	struct inside *holder = owner ? find(owner) : NULL;

	waiting->record.fd = owner ? (int32_t)owner : -1;
	if (!holder)
		return;
	for (uint32_t i = 0; i < holder->held_count; i++)
		if (holder->held[i].address == waiting->record.value)
			return;
	if (holder->held_count < INSIDE_HELD_MAX)
		holder->held[holder->held_count++] =
			(struct held_lock){ waiting->record.value, waiting->lock };
}

/* --- The table ------------------------------------------------------------------------------- */

/* The control thread: what an entry's thread has not written, and will not. */
static void write_for(struct inside *inside, uint64_t cpu_ns, enum outcome outcome)
{
	uint64_t end_ticks;

	found_stop_counting(inside);
	if (inside->slot && inside->record.type != RECORD_NONE) {
		end_ticks = found_end(inside, inside->slot, cpu_ns);
		if (inside->record.type == RECORD_OP)
			found_write_op(&writer, inside, end_ticks, outcome);
		else
			found_cut_wait(&writer, inside, end_ticks);
	}
	store_release(&inside->state, GONE);
}

static bool take(struct inside *inside)
{
	uint32_t state = INSIDE;

	return cas_acq_rel(&inside->state, &state, TAKEN);
}

void census_end(void)
{
	for (uint32_t i = 0; i < census.places; i++) {
		struct inside *inside = &census.all[i];

		if (!take(inside))
			continue;
		if (!inside->slot)
			unseen_write(&writer, inside);
		write_for(inside, inside->cpu_ns, OUTCOME_NONE);
	}
	hand_over();
}

void census_look_again(void)
{
	for (uint32_t i = 0; i < census.places; i++) {
		struct inside *inside = &census.all[i];
		uint64_t cpu_ns;

		if (load_acquire(&inside->state) == INSIDE && inside->record.type == RECORD_OP &&
		    clock_cpu_ns_of(inside->tid, &cpu_ns) && cpu_ns > inside->cpu_ns &&
		    take(inside))
			write_for(inside, cpu_ns, OUTCOME_OK);
	}
	hand_over();
}

void census_fork_child(void)
{
	if (census.all)
		sys_munmap(census.all, census.places * sizeof(*census.all));
	memset(&census, 0, sizeof(census));
	writer.chunk = NULL;
	writer.position = 0;
	memset(&notes, 0, sizeof(notes));
}

/* False: a thread that has taken its entry has been waiting for a CPU since then. */
static bool empty(void)
{
	census.is_filled = false;
	census_end();
	for (uint32_t i = 0; i < census.places; i++)
		if (load_acquire(&census.all[i].state) == TAKEN)
			return false;
	for (uint32_t i = 0; i < census.places; i++) {
		store_relaxed(&census.all[i].state, FREE);
		store_relaxed(&census.all[i].tid, 0);
	}
	return true;
}

static void count_thread(uint32_t tid, void *context)
{
	(void)tid;
	++*(uint32_t *)context;
}

static bool make_room(void)
{
	uint32_t count = 0, places = PLACES_LEAST;
	void *memory;

	if (!tasks_see((uint32_t)sys_getpid(), count_thread, &count))
		return false;
	while (places < 2 * count)
		places *= 2;
	if (places <= census.places)
		return true;
	memory = sys_mmap(NULL, places * sizeof(*census.all), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (sys_is_error(memory))
		return false;
	store_release(&census.all, memory);
	/* Pairs with find(). */
	store_release(&census.places, places);
	return true;
}

static void add_thread(uint32_t tid, void *context)
{
	uint32_t *count = context, at = tid % census.places;
	struct inside *inside;

	/* Half of the places stay free, whatever threads were made since they were counted. */
	if (tid == (uint32_t)sys_gettid() || 2 * *count >= census.places)
		return;
	while (census.all[at].tid != 0)
		at = (at + 1) % census.places;
	inside = &census.all[at];
	inside->slot = NULL;
	inside->held_count = 0;
	inside->is_counted = false;
	inside_look(inside, tid);
	if (inside->record.type != RECORD_NONE)
		inside->record.stack =
			stacks_intern(recorder_arena, inside->frames, inside->frame_count);
	store_relaxed(&inside->state, LOOKED_AT);
	/* Pairs with find(): it has a state. */
	store_release(&inside->tid, tid);
	++*count;
}

/* Of two with one number the later one is alive. */
static void find_slots(const struct arena *arena)
{
	uint32_t slots = roster_made(arena);

	for (uint32_t i = 0; i < slots; i++) {
		struct slot *slot = roster_slot(arena, i);
		uint32_t thread = load_acquire(&slot->thread);
		struct inside *inside = thread ? find(load_relaxed(&slot->tid)) : NULL;

		if (inside && (!inside->slot || load_relaxed(&inside->slot->thread) < thread))
			inside->slot = slot;
	}
}

/* --- The thread ------------------------------------------------------------------------------ */

/* The thread's entry, if it was inside of something, until it is GONE; NULL: nothing is known. */
static struct inside *take_own(const struct self *self)
{
	struct inside *inside = find(load_relaxed(&self->slot->tid));
	uint32_t state = inside ? load_relaxed(&inside->state) : FREE;

	while (state == LOOKED_AT || state == INSIDE)
		if (cas_acq_rel(&inside->state, &state, state == INSIDE ? TAKEN : GONE))
			return state == INSIDE ? inside : NULL;
	return NULL;
}

static bool is_owner(const struct self *self, uint64_t lock, uint8_t type)
{
	return inside_owner(lock, type) == load_relaxed(&self->slot->tid);
}

static void begin_hold(struct self *self, const struct inside *inside, const struct held_lock *lock)
{
	struct watch *watch = NULL;

	if (is_owner(self, lock->address, lock->type))
		watch = watch_get(self, (const void *)(uintptr_t)lock->address,
				  (enum watch_type)lock->type);
	if (watch)
		hold_begin_since(self, watch, 0, inside->record.start);
}

/* A semaphore's permit is its own if there was a post, and so with a condition's signal. */
static bool has_got(const struct self *self, const struct inside *inside, const struct watch *watch)
{
	switch (inside->record.what) {
	case REASON_MUTEX:
	case REASON_RWLOCK_WRITE:
		return is_owner(self, inside->record.value, inside->lock);
	case REASON_SEM:
	case REASON_COND:
		return inside->is_shared ||
		       load_relaxed(&watch->last_ticks) >= inside->record.start;
	default:
		return true;
	}
}

static void write_call(struct self *self, const struct inside *inside, bool is_on)
{
	uint64_t cpu_ns = inside->cpu_ns, end_ticks;
	struct watch *watch;

	/* Of one that has died it is not known. */
	(void)clock_cpu_ns_of(inside->tid, &cpu_ns);
	end_ticks = found_end(inside, self->slot, cpu_ns);
	if (inside->record.type == RECORD_OP) {
		found_write_op(self, inside, end_ticks, OUTCOME_OK);
		return;
	}
	if (inside->lock == WATCH_FREE) {
		found_write_life(self, inside, end_ticks, is_on);
		return;
	}
	watch = found_watch(self, inside);
	if (watch)
		found_write_wait(self, inside, end_ticks, watch,
				 is_on && has_got(self, inside, watch));
}

static void write_all(struct self *self, struct inside *inside)
{
	bool is_on = inside->opening == self->opening && opening_is_on(recorder_arena);

	if (!inside->slot) {
		op_backdate_thread(self, inside->record.start);
		found_complete(inside, self->slot);
		if (inside->is_still)
			mark_slot(self, self->slot, inside);
	}
	for (uint32_t i = 0; is_on && i < inside->held_count; i++)
		begin_hold(self, inside, &inside->held[i]);
	if (inside->record.type != RECORD_NONE)
		write_call(self, inside, is_on);
}

static void come_out(struct self *self)
{
	struct inside *inside = take_own(self);

	if (!inside)
		return;
	found_stop_counting(inside);
	if (!inside->slot || inside->slot == self->slot)
		write_all(self, inside);
	found_hide(inside);
	store_release(&inside->state, GONE);
}

void census_look(void)
{
	uint32_t count = 0;

	if (load_relaxed(&recorder_gate.mode) == GATE_ON || gate_is_confined() || !recorder_arena ||
	    switch_host()->function_count == 0)
		return;
	(void)reaped_write(&writer, 0, clock_now_ticks());
	hand_over();
	if (!stack_warm_up() || !empty() || !make_room())
		return;
	(void)tasks_see((uint32_t)sys_getpid(), add_thread, &count);
	find_slots(recorder_arena);
	/* Pairs with self_come_back(). */
	store_release(&self_comes_back, come_out);
	census.looked_ticks = clock_now_ticks();
	census.is_filled = true;
}

/* --- Recording is on ------------------------------------------------------------------------- */

/* One that runs may have a lock all the same. */
static void begin_entry(struct inside *inside, uint32_t opening)
{
	uint64_t cpu_ns;

	inside->opening = opening;
	inside->record.start = census.opened_ticks;
	inside->is_still = clock_cpu_ns_of(inside->tid, &cpu_ns) && cpu_ns == inside->cpu_ns;
	if (!inside->is_still)
		inside->record.type = RECORD_NONE;
}

/* The lock is watched before its holder lets go, and then somebody waits for it. */
static void count_waiting(struct inside *inside)
{
	struct watch *watch = found_watch(&writer, inside);

	inside->is_counted = watch != NULL;
	if (watch)
		watch_wait_begins(watch);
}

static void publish(struct inside *inside)
{
	uint32_t state = LOOKED_AT;

	if (load_relaxed(&inside->state) != state)
		return;
	if (inside->record.type == RECORD_WAIT)
		count_waiting(inside);
	found_show(inside);
	if (inside->slot && inside->is_still)
		mark_slot(&writer, inside->slot, inside);
	/* Pairs with take_own() and take(): the entry is whole. */
	if (cas_acq_rel(&inside->state, &state, INSIDE))
		return;
	found_hide(inside);
	found_stop_counting(inside);
}

void census_begin(void)
{
	uint32_t opening = opening_now(recorder_arena);

	if (!census.is_filled)
		return;
	census.is_filled = false;
	census.opened_ticks = opening_begun(recorder_arena);
	/* A flow has opened the gate meanwhile: who was looked at after that had been recorded. */
	if (census.opened_ticks < census.looked_ticks)
		return;
	for (uint32_t i = 0; i < census.places; i++)
		if (census.all[i].tid != 0)
			begin_entry(&census.all[i], opening);
	for (uint32_t i = 0; i < census.places; i++)
		if (census.all[i].tid != 0 && census.all[i].record.type == RECORD_WAIT)
			note_owner(&census.all[i]);
	for (uint32_t i = 0; i < census.places; i++)
		if (census.all[i].tid != 0)
			publish(&census.all[i]);
	hand_over();
}
