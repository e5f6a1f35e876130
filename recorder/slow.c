/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that take longer: where they began. See slow.h; slow_end.c adds to them.
 *
 * A thread's beginnings lie beside its slot, in memory that the control thread has mapped. Runs on
 * the program's threads, each with beginnings of its own.
 */
#include "slow.h"

#include "clock.h"
#include "gate.h"

#include "in_target.h"

struct slow_state slow;

uint64_t slow_to_ns(uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)ticks * load_relaxed(&slow.rate)) >> 32);
}

/* In a forked child: what is there was counted by its parent. */
static void forget_parent(struct slow_thread *thread)
{
	thread->thread = 0;
	store_relaxed(&thread->progress, (uint64_t)0);
	add_seq_cst(&thread->spins, thread->spins & 1);
	/* Pairs with slow_is_own(). */
	store_release(&thread->generation, gate_generation());
}

struct slow_thread *slow_thread_of(const struct self *self)
{
	const struct slot *slots = arena_at(recorder_arena, ARENA_ROSTER);
	/* Pairs with the control thread's mapping_ensure(). */
	struct slow_thread *threads = load_acquire(&slow.threads);
	struct slow_thread *thread = threads ? threads + (self->slot - slots) : NULL;

	if (!thread)
		return NULL;
	if (UNLIKELY(thread->generation != gate_generation()))
		forget_parent(thread);
	if (UNLIKELY(thread->thread != self->thread)) {
		thread->count = 0;
		thread->window = 0;
		thread->sampled_cpu_ns = 0;
		thread->thread = self->thread;
	}
	return thread;
}

bool slow_is_open(uint64_t window)
{
	return clock_now_ticks() < (window & ~(uint64_t)SLOW_FACTOR_MASK);
}

void slow_enter_window(struct slow_thread *thread, uint64_t window)
{
	if (thread->window == window)
		return;
	thread->window = window;
	thread->spin_debt_ns = 0;
	thread->sleep_debt_ns = 0;
	thread->cpu_debt_ns = 0;
}

/* Ids are the arena's, and below the bounds of their tables. No rule is for what has no stack. */
uint8_t slow_byte_of(void *const *bytes, uint32_t id)
{
	/* Pairs with the control thread's mapping_ensure(). */
	const uint8_t *table = load_acquire(bytes);

	if (id == 0)
		return SLOW_KNOWN;
	return table ? load_relaxed(&table[id]) : 0;
}

struct slow_beginning *slow_find(struct slow_thread *thread, uint64_t op)
{
	for (uint32_t i = thread->count; i-- > 0;)
		if (thread->beginnings[i].op == op)
			return &thread->beginnings[i];
	return NULL;
}

void slow_drop(struct slow_thread *thread, struct slow_beginning *beginning)
{
	*beginning = thread->beginnings[--thread->count];
}

/* A declared op is open as what the thread is attached to. */
static bool is_open_here(const struct self *self, uint64_t op)
{
	for (uint32_t i = self->depth; i-- > 0;)
		if (self->slot->entries[i].handle == op || self->slot->entries[i].record.id == op)
			return true;
	return false;
}

/* Those of ops that never ended here. */
static void drop_stale(const struct self *self, struct slow_thread *thread)
{
	for (uint32_t i = thread->count; i-- > 0;)
		if (!is_open_here(self, thread->beginnings[i].op))
			slow_drop(thread, &thread->beginnings[i]);
}

/* Of a stack or name that was not looked at yet: it may be by the end of the op. */
static void begin(struct self *self, uint64_t op, uint8_t byte)
{
	struct slow_thread *thread = slow_thread_of(self);
	struct slow_beginning *beginning;

	if (op == 0 || !thread)
		return;
	if (thread->count > 0 && thread->count + 2 > self->depth)
		drop_stale(self, thread);
	if (thread->count == 0 && byte & SLOW_KNOWN && !(byte & SLOW_ADDS))
		return;
	if (thread->count == SLOT_ENTRIES)
		return;
	beginning = &thread->beginnings[thread->count++];
	*beginning = (struct slow_beginning){
		.op = op,
		.waited_ns = thread->waited_ns,
		.blocked_ns = thread->blocked_ns,
	};
	beginning->cpu_ns = clock_thread_cpu_ns();
	beginning->start_ticks = clock_now_ticks();
}

void slow_begin(struct self *self, uint64_t op, uint32_t stack)
{
	begin(self, op, slow_byte_of(&slow.of_stack, stack));
}

void slow_begin_declared(struct self *self, uint64_t op, uint32_t name)
{
	begin(self, op, slow_byte_of(&slow.of_name, name));
}

void slow_waited(struct self *self, uint64_t ticks)
{
	struct slow_thread *thread = slow_thread_of(self);

	if (thread)
		thread->waited_ns += slow_to_ns(ticks);
}
