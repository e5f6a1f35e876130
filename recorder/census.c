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

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "chunk.h"
#include "clock.h"
#include "descriptors.h"
#include "mark.h"
#include "op.h"
#include "opening.h"
#include "parked.h"
#include "roster.h"
#include "self.h"
#include "stack.h"
#include "stacks.h"
#include "switch.h"
#include "syscalls.h"
#include "tasks.h"
#include "watch.h"

#include "in_target.h"

enum { FRAMES_MAX = 64, HELD_MAX = 4, PLACES_LEAST = 64 };

/* The control thread fills an entry that is FREE. An INSIDE or COUNTED one belongs to the thread
 * that claims it: the control thread, or its own. COUNTED: among those that wait for its lock. */
enum { FREE, INSIDE, COUNTED, CLAIMED };

struct inside {
	uint32_t tid; /* 0 = nobody's */
	uint32_t state;
	uint32_t opening;
	uint32_t held_count;
	uint64_t held[HELD_MAX]; /* mutexes that others waited for and it had */
	uint64_t cpu_ns;         /* that it had used */
	struct record record;    /* of the call; type RECORD_NONE: not known */
	uint8_t lock;            /* enum watch_type: it waited for one */
	uint32_t frame_count;
	uint64_t frames[FRAMES_MAX]; /* of who called */
};

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

/* --- Which call it is ------------------------------------------------------------------------ */

static const struct {
	int32_t number;
	uint8_t kind;
	bool has_descriptor;
} calls[] = {
#define CALL(number, kind, has_descriptor) { number, KIND_##kind, has_descriptor },
#include "census.def"
};

static const struct {
	const char *name;
	uint8_t reason;
	uint8_t type; /* enum watch_type */
} locks[] = {
#define LOCK(name, reason, type) { name, REASON_##reason, WATCH_##type },
#include "census.def"
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool compose_lock(struct inside *inside, const struct task_call *call)
{
	const char *name = switch_host()->call_names[inside->record.name - 1];
	int what = (int)call->arguments[1] & FUTEX_CMD_MASK;
	size_t i = 0;

	while (i < COUNT_OF(locks) && strcmp(locks[i].name, name) != 0)
		i++;
	if (i == COUNT_OF(locks) || what == FUTEX_WAKE || what == FUTEX_WAKE_BITSET)
		return false;
	inside->lock = locks[i].type;
	inside->record.type = RECORD_WAIT;
	inside->record.what = locks[i].reason;
	inside->record.value = call->arguments[0];
	return true;
}

static bool compose_call(struct inside *inside, const struct task_call *call)
{
	size_t i = 0;

	while (i < COUNT_OF(calls) && calls[i].number != call->number)
		i++;
	if (i == COUNT_OF(calls))
		return false;
	inside->record.type = RECORD_OP;
	inside->record.what = calls[i].kind;
	if (calls[i].has_descriptor)
		inside->record.fd = (int32_t)call->arguments[0];
	return true;
}

/* The id of libc's function that begins next before this address; 0 = none does. `behind`: how far
 * the address lies behind its begin. */
static uint32_t find_call(const struct recorder_host *host, uint64_t pc, uint64_t *behind)
{
	uint32_t found = 0;

	*behind = UINT64_MAX;
	for (uint32_t i = 0; i < host->function_count; i++) {
		uint64_t at = (uint64_t)(uintptr_t)host->functions[i];

		if (at != 0 && at < pc && pc - at < *behind) {
			*behind = pc - at;
			found = i + 1;
		}
	}
	return found;
}

/*
 * The program has called libc's outermost frame, which is a function that has a hook. Those further
 * in have none, mostly, but have one before them that is nearer than other files are.
 */
static bool compose_place(struct inside *inside, const struct task_call *call)
{
	enum { FUNCTION_BYTES = 4096, GAP_BYTES = 65536 };
	uint64_t pcs[FRAMES_MAX], behind;
	uint32_t count = parked_walk(inside->tid, call, pcs, FRAMES_MAX), outermost = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t name = find_call(switch_host(), pcs[i], &behind);

		if (name == 0 || behind > GAP_BYTES)
			break;
		inside->record.name = behind < FUNCTION_BYTES ? name : 0;
		outermost = i;
	}
	if (inside->record.name == 0)
		return false;
	inside->frame_count = count - outermost - 1;
	memcpy(inside->frames, pcs + outermost + 1, inside->frame_count * sizeof(*pcs));
	return true;
}

/* Of a thread that goes on meanwhile, the CPU time will be another one. */
static void look_at(struct inside *inside)
{
	struct task_call call;

	inside->record = (struct record){ .fd = -1, .type = RECORD_NONE };
	if (!clock_cpu_ns_of(inside->tid, &inside->cpu_ns) ||
	    !task_read_call((uint32_t)sys_getpid(), inside->tid, &call) ||
	    !compose_place(inside, &call))
		return;
	if (call.number == SYS_futex)
		(void)compose_lock(inside, &call);
	else
		(void)compose_call(inside, &call);
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
	if (holder->held_count < HELD_MAX)
		holder->held[holder->held_count++] = waiting->record.value;
}

/* --- The table ------------------------------------------------------------------------------- */

/* False: its thread has claimed it, and copies it. */
static bool take_back(struct inside *inside)
{
	uint32_t state = load_relaxed(&inside->state);

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

	if (load_relaxed(&recorder_gate.mode) == GATE_ON || switch_host()->function_count == 0)
		return;
	if (!stack_warm_up())
		return;
	/* A thread that still copies its last entry has been waiting for a CPU since then. */
	if (!empty() || !make_room())
		return;
	(void)tasks_see((uint32_t)sys_getpid(), add_thread, &count);
	for (uint32_t i = 0; i < census.places; i++)
		if (census.all[i].tid != 0)
			look_at(&census.all[i]);
	census.rate = clock_own_rate(CLOCK_APART_LEAST_NS);
	census.is_filled = true;
}

/* --- The thread ------------------------------------------------------------------------------ */

/* The thread's entry, in that state, until it is FREE again; NULL: nothing is known. */
static struct inside *claim(const struct self *self, uint32_t *state)
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
	wait->count = self->thread;
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
	op->id = self_next_id(self);
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

static void write_call(struct self *self, struct inside *inside)
{
	struct record *record = &inside->record;
	uint64_t end = find_end(inside);
	struct watch *watch;

	record->parent = op_current(self);
	record->stack = stack_intern(inside->frames, inside->frame_count);
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
	uint32_t state;
	struct inside *inside = claim(self, &state);

	if (!inside)
		return;
	if (state == COUNTED)
		watch_wait_ends(watch_find((const void *)(uintptr_t)inside->record.value));
	if (inside->opening == self->opening)
		write_all(self, inside);
	store_release(&inside->state, FREE);
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
	uint32_t state = INSIDE;
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
