/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's knowledge of itself. See self.h; recorder.h has the hooks' view.
 *
 * `busy` is set while the thread is inside the recorder, never across a call of the program's. A
 * signal handler that comes in between finds it set and is turned away (counted). A handler that
 * leaves by longjmp, or an asynchronous cancellation, would leave it set for ever. So a later call
 * from further up the same stack takes it as abandoned.
 */
#include "self.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "chunk.h"
#include "clock.h"
#include "gate.h"
#include "mark.h"
#include "op.h"
#include "owncost.h"
#include "opening.h"
#include "meter.h"
#include "roster.h"
#include "scope.h"
#include "spare.h"
#include "strings.h"
#include "syscalls.h"
#include "weight.h"

#include "in_target.h"

enum { REFUSALS = 1000 };

__thread struct self self_of_thread;
uint32_t self_period = 1;
void (*self_comes_back)(struct self *);

extern void *__libc_stack_end;

/* --- Registration ---------------------------------------------------------------------------- */

/*
 * Where this thread's stack begins: the thread block of glibc's lies there, except for the first
 * thread. NULL when it cannot be told.
 */
static const void *find_stack_top(uint32_t tid)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t block = (uintptr_t)pthread_self();

	if (tid != recorder_arena->pid)
		return here < block ? (const void *)block : NULL;
	return here < (uintptr_t)__libc_stack_end ? __libc_stack_end : NULL;
}

static inline __attribute__((always_inline)) bool begin_in_slot(struct self *self)
{
	struct arena *arena = recorder_arena;
	uint32_t tid = (uint32_t)sys_gettid();
	uint64_t op = self->announced;

	self->thread = op ? (uint32_t)(op >> 32) : add_relaxed(&arena->thread_count, 1) + 1;
	self->sequence = 0;
	op = self_next_id(self);
	self->slot = roster_claim(arena, self->thread, tid, op);
	if (!self->slot)
		return false;
	self->opening = opening_now(arena);
	store_relaxed(&self->slot->opening, self->opening);
	if (!self->stack_top)
		self->stack_top = find_stack_top(tid);
	store_relaxed(&self->slot->stack_top, (uint64_t)(uintptr_t)self->stack_top);
	(void)SYS3(prctl, PR_GET_NAME, self->slot->name, 0);
	self->depth = 0;
	self->chunk = NULL;
	op_begin_thread(self, op,
			self->announced_parent ? self->announced_parent : arena->process_op.id, tid,
			self->routine);
	self->announced = 0;
	mark_write(self, clock_now_ticks());
	return true;
}

static bool claim_slot(struct self *self)
{
	struct slow_path path = slow_path_begin(self);
	bool has_slot = begin_in_slot(self);

	slow_path_end(self, &path);
	if (has_slot)
		owncost_thread_begun(recorder_arena, self->slot);
	return has_slot;
}

/* The thread goes on as another one, under a new index. */
static void renumber(struct self *self)
{
	struct slot *slot = self->slot;
	uint64_t now = clock_now_ticks();

	mark_write(self, now);
	op_set_weight(self, weight_of_thread(load_relaxed(&slot->tid)));
	op_end_all(self, now, OUTCOME_NONE,
		   string_intern(slot->name, strnlen(slot->name, sizeof(slot->name))));
	self->thread = add_relaxed(&recorder_arena->thread_count, 1) + 1;
	self->sequence = 0;
	store_release(&slot->thread, self->thread);
	store_relaxed(&slot->op, self_next_id(self));
	op_begin_thread(self, slot->op, recorder_arena->process_op.id, load_relaxed(&slot->tid),
			self->routine);
	mark_write(self, now);
}

/* Entries were cut off when recording was turned off, unless the thread was inside since then. */
static void cut_off(struct self *self)
{
	struct arena *arena = recorder_arena;
	uint32_t opening = opening_now(arena);

	if (self->opening == opening && opening_cut(arena, opening, 0) == 0)
		return;
	op_end_forgotten(self, self->opening);
	self->opening = opening;
	/* Pairs with opens.c: who sees it sees what was open before as ended. */
	store_release(&self->slot->opening, opening);
}

void self_come_back(struct self *self)
{
	/* Pairs with census_begin(). */
	void (*comes_back)(struct self *) = load_acquire(&self_comes_back);

	cut_off(self);
	if (comes_back)
		comes_back(self);
}

/* A registered thread that was not inside since recording was turned on, or whose ids are used
 * up. */
static void resettle(struct self *self, uint32_t period)
{
	if (self->sequence < SELF_SEQUENCE_LAST) {
		mark_write(self, clock_now_ticks());
	} else if (self->depth == 1) {
		renumber(self);
	} else {
		return;
	}
	self->period = period;
}

/* Goes out of scope: what is open will not be seen to end. */
static void mute(struct self *self, uint32_t period)
{
	self->muted = 1;
	self->period = period;
	if (!self->slot)
		return;
	op_end_forgotten(self, self->opening);
}

/* First call since recording was turned on: registers the thread, or ends what was open
 * meanwhile. */
static bool settle(struct self *self)
{
	/* Pairs with who changed the scope, and then this. */
	uint32_t period = load_acquire(&self_period);

	if (self->slot)
		self_come_back(self);
	if (!scope_has(self)) {
		mute(self, period);
		return false;
	}
	self->muted = 0;
	if (self->slot) {
		resettle(self, period);
		return true;
	}
	if (self->refusals > 0 && self->refusals-- > 1) {
		arena_count(recorder_arena, COUNTER_dropped_unregistered);
		return false;
	}
	if (!claim_slot(self)) {
		self->thread = 0;
		self->refusals = REFUSALS;
		arena_count(recorder_arena, COUNTER_dropped_unregistered);
		return false;
	}
	self->period = period;
	self_come_back(self);
	return true;
}

bool self_has_place(struct self *self)
{
	return self->slot || (!self->retired && claim_slot(self));
}

/* --- The guard ------------------------------------------------------------------------------- */

static bool is_on_signal_stack(void)
{
	stack_t stack = { .ss_flags = SS_DISABLE };

	return SYS3(sigaltstack, NULL, &stack, 0) != 0 || (stack.ss_flags & SS_ONSTACK) != 0;
}

/* Busy, retired or out of scope: whether to go in all the same, because who was busy will never
 * come back. */
bool self_heals(struct self *self, const void *frame)
{
	struct arena *arena = load_acquire(&recorder_arena);

	if (load_relaxed(&recorder_gate.mode) != GATE_ON || !arena)
		return false;
	if (self->retired) {
		if (self->retired & SELF_ENDED)
			arena_count(arena, COUNTER_dropped_late);
		return false;
	}
	if (self->busy == SELF_LEARNING)
		return false;
	/* Out of scope: unless the scope has changed. */
	if (!self->busy)
		return self->period != load_relaxed(&self_period);
	if (frame >= self->busy_frame && frame <= self->stack_top && !is_on_signal_stack()) {
		self->is_slow = 0;
		return true;
	}
	arena_count(arena, COUNTER_dropped_nested);
	return false;
}

struct self *self_settle(struct self *self)
{
	if (settle(self))
		return self;
	self_end(self);
	return NULL;
}

struct self *self_enter(void)
{
	return self_begin(__builtin_frame_address(0));
}

struct self *self_enter_late(void)
{
	return self_of_thread.busy ? NULL : self_become_busy(__builtin_frame_address(0));
}

void self_leave(struct self *self)
{
	if (self)
		self_end(self);
}

/* --- Life and death -------------------------------------------------------------------------- */

void self_forget(void)
{
	struct self *self = &self_of_thread;
	struct self fresh = { .stack_top = self->stack_top,
			      .busy = self->busy,
			      .busy_frame = self->busy_frame,
			      .saved_errno = self->saved_errno,
			      .errno_at = self->errno_at };

	*self = fresh;
}

void self_retire(void)
{
	self_of_thread.retired = SELF_ENDED;
}

void self_confine(bool is_confined)
{
	struct self *self = &self_of_thread;

	self->retired = (uint8_t)((self->retired & SELF_ENDED) | (is_confined ? SELF_CONFINED : 0));
}

uint32_t thread_index(const struct self *self)
{
	return self->thread;
}

uint64_t thread_announce(struct self *self, const void *start_routine)
{
	uint64_t thread = add_relaxed(&recorder_arena->thread_count, 1) + 1;
	uint64_t op = thread << 32 | 1;

	link_record(self, LINK_SPAWN, op, start_routine, 0, 0);
	return op;
}

void thread_begin(uint64_t announced, uint64_t parent_op, const void *start_routine,
		  const void *stack_top)
{
	struct self *self = &self_of_thread;

	if (self->slot || self->busy)
		return;
	self->stack_top = stack_top;
	self->routine = start_routine;
	self->announced = announced;
	self->announced_parent = parent_op;
	self_leave(self_enter());
}

bool self_take_flow(void)
{
	bool is_in_flow = self_of_thread.flows > 0;

	self_of_thread.flows = 0;
	return is_in_flow;
}

static void leave_slot(struct self *self)
{
	struct slow_path path = slow_path_begin(self);
	struct slot *slot = self->slot;
	char name[sizeof(slot->name)] = "";

	(void)SYS3(prctl, PR_GET_NAME, name, 0);
	mark_write(self, clock_now_ticks());
	op_set_weight(self, weight_of_thread(load_relaxed(&slot->tid)));
	self_come_back(self);
	op_end_all(self, clock_now_ticks(), OUTCOME_CANCELED,
		   string_intern(name, strnlen(name, sizeof(name))));
	chunk_hand_over(self);
	slow_path_end(self, &path);
	self->slot = NULL;
	roster_release(recorder_arena, slot);
}

void self_finish(void)
{
	struct self *self = &self_of_thread;

	assert(self->flows == 0);
	if (self->slot && !self->busy && !gate_is_confined()) {
		self->busy_frame = __builtin_frame_address(0);
		self->busy = SELF_INSIDE;
		order_for_handlers();
		leave_slot(self);
		order_for_handlers();
		self->busy = 0;
	}
	spare_thread_ends();
	self->retired |= SELF_ENDED;
}
