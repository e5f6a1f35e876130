/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that threads are inside of when recording begins. See census.h.
 *
 * All that takes long is asked before recording is turned on. After that one look at each thread's
 * CPU time says whether it is still in the same call: only then the table is published. A thread
 * claims its entry, and has it to itself. Memory of a table is never given back: a thread may be
 * looking at it yet.
 */
#include "census.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "chunk.h"
#include "clock.h"
#include "descriptors.h"
#include "gate.h"
#include "inside.h"
#include "mark.h"
#include "op.h"
#include "opening.h"
#include "roster.h"
#include "self.h"
#include "stack.h"
#include "stacks.h"
#include "switch.h"
#include "syscalls.h"
#include "tasks.h"
#include "watch.h"

#include "in_target.h"

enum { PLACES_LEAST = 64 };

/* The control thread fills an entry that is FREE. An INSIDE or COUNTED one belongs to the thread
 * that claims it: the control thread, or its own. COUNTED: among those that wait for its lock. */
enum { FREE, INSIDE, COUNTED, CLAIMED };

/* The control thread's; threads read it once `opening` is theirs. */
static struct {
	uint32_t opening; /* 0 = there is none */
	uint32_t places;  /* a power of 2 */
	struct inside *all;
	bool is_filled;
	uint64_t opened_ticks;
	uint64_t rate; /* clock_own_rate() */
} census;

static struct inside *find(uint32_t tid)
{
	for (uint32_t i = 0; i < census.places; i++) {
		struct inside *inside = &census.all[(tid + i) % census.places];
		uint32_t found = load_relaxed(&inside->tid);

		if (found == tid)
			return inside;
		if (found == 0)
			break;
	}
	return NULL;
}

/* --- Who has what it waits for --------------------------------------------------------------- */

/* 0 = nobody, or it cannot be read. */
static uint32_t owner_of(uint64_t mutex)
{
	uint32_t owner = 0;

	if (task_read_memory((uint32_t)sys_getpid(),
			     mutex + offsetof(pthread_mutex_t, __data.__owner), &owner,
			     sizeof(owner)) != sizeof(owner))
		return 0;
	return owner & FUTEX_TID_MASK;
}

static void note_owner(struct inside *waiting)
{
	uint32_t owner = owner_of(waiting->record.value);
	struct inside *holder = owner ? find(owner) : NULL;

	waiting->record.fd = owner ? (int32_t)owner : -1;
	if (!holder)
		return;
	for (uint32_t i = 0; i < holder->held_count; i++)
		if (holder->held[i] == waiting->record.value)
			return;
	if (holder->held_count < INSIDE_HELD_MAX)
		holder->held[holder->held_count++] = waiting->record.value;
}

/* --- The table ------------------------------------------------------------------------------- */

/* False: its thread has claimed it, and copies it. */
static bool take_back(struct inside *inside)
{
	uint64_t state = load_relaxed(&inside->state);

	if (state == INSIDE || state == COUNTED)
		(void)(cas_acq_rel(&inside->state, &state, CLAIMED));
	if (state == CLAIMED)
		return false;
	if (state == COUNTED)
		watch_wait_ends(watch_find((const void *)(uintptr_t)inside->record.value));
	store_release(&inside->state, FREE);
	return true;
}

static bool empty(void)
{
	bool is_empty = true;

	census.is_filled = false;
	store_relaxed(&census.opening, 0);
	for (uint32_t i = 0; i < census.places; i++)
		is_empty &= take_back(&census.all[i]);
	return is_empty;
}

void census_fork_child(void)
{
	if (census.all)
		sys_munmap(census.all, census.places * sizeof(*census.all));
	census.all = NULL;
	census.places = census.opening = 0;
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
	if (places <= census.places) {
		memset(census.all, 0, census.places * sizeof(*census.all));
		return true;
	}
	memory = sys_mmap(NULL, places * sizeof(*census.all), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (sys_is_error(memory))
		return false;
	census.all = memory;
	census.places = places;
	return true;
}

static void add_thread(uint32_t tid, void *context)
{
	uint32_t *count = context, at = tid % census.places;

	/* Half of the places stay free, whatever threads were made since they were counted. */
	if (tid == (uint32_t)sys_gettid() || 2 * *count >= census.places)
		return;
	while (census.all[at].tid != 0)
		at = (at + 1) % census.places;
	store_relaxed(&census.all[at].tid, tid);
	++*count;
}

void census_look(void)
{
	uint32_t count = 0;

	if (load_relaxed(&recorder_gate.mode) == GATE_ON || gate_is_confined() ||
	    switch_host()->function_count == 0)
		return;
	if (!stack_warm_up())
		return;
	/* A thread that still copies its last entry has been waiting for a CPU since then. */
	if (!empty() || !make_room())
		return;
	(void)tasks_see((uint32_t)sys_getpid(), add_thread, &count);
	for (uint32_t i = 0; i < census.places; i++)
		if (census.all[i].tid != 0)
			inside_look(&census.all[i]);
	census.rate = clock_own_rate(CLOCK_APART_LEAST_NS);
	census.is_filled = true;
}

/* --- The thread ------------------------------------------------------------------------------ */

/* The thread's entry, in that state, until it is FREE again; NULL: nothing is known. */
static struct inside *claim(const struct self *self, uint64_t *state)
{
	struct inside *inside = NULL;

	/* Pairs with census_begin(). */
	if (load_acquire(&census.opening) == self->opening)
		inside = find(load_relaxed(&self->slot->tid));
	if (!inside)
		return NULL;
	*state = load_relaxed(&inside->state);
	if ((*state != INSIDE && *state != COUNTED) || !cas_acq_rel(&inside->state, state, CLAIMED))
		return NULL;
	return inside;
}

static bool is_owner(const struct self *self, uint64_t mutex)
{
	return owner_of(mutex) == load_relaxed(&self->slot->tid);
}

/* A mutex has let it in if it is the owner now; of other locks that is not known. */
static void write_wait(struct self *self, struct record *wait, struct watch *watch,
		       uint64_t end_ticks)
{
	bool is_mutex = wait->what == REASON_MUTEX;
	bool has = !is_mutex || is_owner(self, wait->value);
	uint64_t last = load_relaxed(&watch->last_ticks);
	bool is_let = has && last >= wait->start;

	wait->end = is_let && last > end_ticks ? last : end_ticks;
	wait->id = is_let && !load_relaxed(&watch->sharing) ? load_relaxed(&watch->last_op) : 0;
	wait->ident = load_relaxed(&watch->ident);
	wait->flags = has ? 0 : RECORD_TIMED_OUT;
	(void)chunk_append(self, wait);
	if (is_mutex && has)
		hold_begin_since(self, watch, wait->stack, wait->end);
}

static void write_op(struct self *self, struct record *op, uint64_t end_ticks)
{
	uint64_t ticks = end_ticks - op->start;

	if (op->fd >= 0)
		descriptors_describe(self, op);
	/* The time that it asked for from then on; the kernel's share of it is not known. */
	if (op->what == KIND_SLEEP)
		op->value = (uint64_t)(((unsigned __int128)ticks * census.rate) >> 32);
	op->end = end_ticks;
	op->outcome = OUTCOME_OK;
	(void)chunk_append(self, op);
}

/* When the call ended that the thread was inside of: before it used this much CPU time. */
static uint64_t find_end(const struct inside *inside)
{
	uint64_t ran_ns = clock_thread_cpu_ns() - inside->cpu_ns;
	uint64_t end = clock_ticks_at(clock_mono_ns() - ran_ns);

	return end > inside->record.start ? end : inside->record.start;
}

/* By its thread or, in a copy, by a dump before that. The same op has the same id: no thread uses
 * ids from there on itself, and it is inside of one call in each opening. */
static void complete(struct inside *inside, uint32_t thread, uint64_t parent)
{
	struct record *record = &inside->record;

	record->parent = parent;
	record->stack = stack_intern(inside->frames, inside->frame_count);
	if (record->type == RECORD_WAIT)
		record->count = thread;
	if (record->type == RECORD_OP)
		record->id = (uint64_t)thread << 32 | SELF_SEQUENCE_LAST |
			     (inside->opening & ~SELF_SEQUENCE_LAST);
}

static void write_call(struct self *self, struct inside *inside)
{
	struct record *record = &inside->record;
	uint64_t end = find_end(inside);
	struct watch *watch;

	complete(inside, self->thread, self->slot->op);
	mark_was(self, record->start, inside->cpu_ns);
	if (record->type == RECORD_OP) {
		write_op(self, record, end);
		return;
	}
	watch = watch_get(self, (const void *)(uintptr_t)record->value,
			  (enum watch_type)inside->lock);
	if (watch)
		write_wait(self, record, watch, end);
}

static void begin_hold(struct self *self, uint64_t mutex)
{
	struct watch *watch = NULL;

	if (is_owner(self, mutex))
		watch = watch_get(self, (const void *)(uintptr_t)mutex, WATCH_MUTEX);
	if (watch)
		hold_begin_since(self, watch, 0, census.opened_ticks);
}

static void write_all(struct self *self, struct inside *inside)
{
	op_backdate_thread(self, census.opened_ticks);
	for (uint32_t i = 0; i < inside->held_count; i++)
		begin_hold(self, inside->held[i]);
	if (inside->record.type != RECORD_NONE)
		write_call(self, inside);
}

static void come_out(struct self *self)
{
	uint64_t state;
	struct inside *inside = claim(self, &state);

	if (!inside)
		return;
	if (state == COUNTED)
		watch_wait_ends(watch_find((const void *)(uintptr_t)inside->record.value));
	if (inside->opening == self->opening)
		write_all(self, inside);
	store_release(&inside->state, FREE);
}

bool census_open(const struct slot *slot, struct snapshot_open *open)
{
	const struct inside *inside = find(load_relaxed(&slot->tid));
	struct inside copy;

	*open = (struct snapshot_open){ .handle = inside ? load_acquire(&inside->state) : FREE };
	if ((open->handle != INSIDE && open->handle != COUNTED) ||
	    inside->opening != opening_now(recorder_arena))
		return false;
	copy = *inside;
	complete(&copy, load_relaxed(&slot->thread), load_relaxed(&slot->op));
	open->record = copy.record;
	open->place = &inside->state;
	open->cut = opening_cut(recorder_arena, inside->opening, copy.record.start);
	/* Its thread claims it before it writes the record. */
	return copy.record.type != RECORD_NONE && load_acquire(&inside->state) == open->handle;
}

/* --- Recording is on ------------------------------------------------------------------------- */

/* One that runs may have a lock all the same. */
static void look_again(struct inside *inside)
{
	uint64_t cpu_ns;

	if (inside->record.type == RECORD_NONE)
		return;
	inside->record.start = census.opened_ticks;
	if (!clock_cpu_ns_of(inside->tid, &cpu_ns) || cpu_ns != inside->cpu_ns)
		inside->record.type = RECORD_NONE;
}

/* The lock is watched before its holder lets go, and then somebody waits for it. */
static void count_waiting(struct inside *inside)
{
	struct self aside = { .thread = UINT32_MAX };
	uint64_t state = INSIDE;
	struct watch *watch;

	if (!cas_acq_rel(&inside->state, &state, CLAIMED))
		return;
	watch = watch_get(&aside, (const void *)(uintptr_t)inside->record.value,
			  (enum watch_type)inside->lock);
	if (watch)
		watch_wait_begins(watch);
	store_release(&inside->state, watch ? COUNTED : INSIDE);
}

void census_begin(void)
{
	uint32_t opening;

	if (!census.is_filled)
		return;
	census.is_filled = false;
	opening = opening_now(recorder_arena);
	census.opened_ticks = opening_begun(recorder_arena);
	for (uint32_t i = 0; i < census.places; i++)
		if (census.all[i].tid != 0)
			look_again(&census.all[i]);
	for (uint32_t i = 0; i < census.places; i++)
		if (census.all[i].record.type == RECORD_WAIT &&
		    census.all[i].record.what == REASON_MUTEX)
			note_owner(&census.all[i]);
	for (uint32_t i = 0; i < census.places; i++) {
		census.all[i].opening = opening;
		/* Pairs with claim(): the entry is whole. */
		if (census.all[i].tid != 0)
			store_release(&census.all[i].state, INSIDE);
	}
	/* Pairs with claim(): the table is there. */
	store_release(&census.opening, opening);
	store_release(&self_comes_back, come_out);
	for (uint32_t i = 0; i < census.places; i++)
		if (census.all[i].record.type == RECORD_WAIT)
			count_waiting(&census.all[i]);
}
