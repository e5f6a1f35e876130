/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds of locks: from when a thread has one until it lets go. See watch.h.
 *
 * While a hold lasts it is said twice: in its watch, for those that wait, and among the thread's
 * open entries, for dumps. Runs on the program's threads; only the holder writes `holder_*`.
 */
#include "watch.h"

#include <assert.h>

#include "arena.h"
#include "clock.h"
#include "context.h"
#include "fields.h"
#include "opening.h"
#include "op.h"
#include "record.h"
#include "self.h"
#include "slow.h"
#include "stack.h"

#include "in_target.h"

static uint32_t index_of(const struct watch *watch)
{
	return (uint32_t)(watch - (struct watch *)arena_at(recorder_arena, ARENA_WATCHES));
}

static inline __attribute__((always_inline)) void begin(struct self *self, struct watch *watch,
							uint32_t stack, const void *frame,
							uint64_t since_ticks)
{
	uint64_t last = load_relaxed(&watch->last_ticks);
	/* The counter is read out of order by nanoseconds: holds of a lock must not overlap. */
	uint64_t start = since_ticks > last ? since_ticks : last;
	uint64_t op, parent;

	if (load_relaxed(&recorder_holds) == HOLDS_NONE)
		return;
	if (UNLIKELY(load_relaxed(&watch->holder_op) != 0))
		watch_end_hold(self, watch, start);
	context_follow_since(self, start);
	/* Once: it is another as soon as another thread lets go of a lock of this one's. */
	parent = op_current(self);
	store_relaxed(&watch->hold_count, load_relaxed(&watch->hold_count) + 1);
	op = op_begin_hold(self, watch, index_of(watch), parent, stack, frame, start);
	store_relaxed(&watch->holder_relock, 0);
	store_relaxed(&watch->holder_flags, 0);
	store_relaxed(&watch->holder_parent, parent);
	store_relaxed(&watch->holder_start, start);
	store_relaxed(&watch->holder_stack, stack);
	store_relaxed(&watch->holder_opening, self->opening);
	/* Pairs with blocked.c and opens.c: whoever sees the hold sees whose it is. */
	store_release(&watch->holder_op, op);
	if (ops_may_take_longer())
		slow_begin(self, op, stack);
}

void hold_begin(struct self *self, struct watch *watch, uint32_t stack, const void *frame)
{
	begin(self, watch, stack, frame, clock_now_ticks());
}

void hold_begin_since(struct self *self, struct watch *watch, uint32_t stack, uint64_t since_ticks)
{
	begin(self, watch, stack, NULL, since_ticks);
}

void hold_relocked(struct watch *watch, uint64_t relock_ticks)
{
	uint64_t units = relock_ticks / RELOCK_TICKS;

	store_relaxed(&watch->holder_relock, units < INT32_MAX ? (uint32_t)units : INT32_MAX);
}

void hold_inherited(struct self *self, struct watch *watch)
{
	store_relaxed(&watch->holder_flags, (uint8_t)RECORD_OWNER_DIED);
	op_set_flags(self, load_relaxed(&watch->holder_op), RECORD_OWNER_DIED);
}

void hold_tried(struct watch *watch)
{
	store_relaxed(&watch->holder_flags,
		      (uint8_t)(load_relaxed(&watch->holder_flags) | RECORD_TRIED));
}

/* Before which nothing of this thread is recorded but the lives of what has one. */
static uint64_t begin_of_time(const struct self *self)
{
	uint64_t opened = opening_begun(recorder_arena);
	uint64_t thread = self->slot->entries[0].record.start;

	return thread > opened ? thread : opened;
}

void hold_begin_late(struct self *self, struct watch *watch, uint64_t last_ticks, uint32_t nth)
{
	uint64_t hot = load_relaxed(&watch->hot_ticks);
	uint64_t before = load_relaxed(&watch->last_ticks);
	uint64_t start = last_ticks;
	uint64_t least = begin_of_time(self), ended = load_relaxed(&watch->holder_start);

	assert(nth > 0);
	if (load_relaxed(&recorder_holds) == HOLDS_NONE || load_relaxed(&watch->holder_op) != 0)
		return;
	/* Locks that it took one after the other without a record took equally long. */
	if (hot > start)
		start = hot - (hot - start) / nth;
	if (start < before)
		start = before;
	if (start < least)
		start = least;
	if (start < ended)
		start = ended;
	store_relaxed(&watch->holder_relock, 0);
	store_relaxed(&watch->holder_flags, 0);
	store_relaxed(&watch->holder_parent, op_current(self));
	store_relaxed(&watch->holder_start, start);
	store_relaxed(&watch->holder_stack, 0);
	store_relaxed(&watch->holder_opening, self->opening);
	store_relaxed(&watch->hold_count, load_relaxed(&watch->hold_count) + 1);
	/* As in hold_begin(). */
	store_release(&watch->holder_op, self_next_id(self));
}

bool hold_is_anothers(const struct self *self, const struct watch *watch)
{
	uint64_t op = watch_holder(watch);

	return op != 0 && op >> 32 != self->thread &&
	       load_relaxed(&watch->holder_opening) == self->opening;
}

uint64_t hold_known(const struct self *self, const struct watch *watch)
{
	return load_relaxed(&watch->holder_opening) == self->opening ? watch_holder(watch) : 0;
}

void hold_takes_longer(const struct watch *watch)
{
	if (watch)
		slow_end(watch_holder(watch), false);
}

/* Not begun by this thread in this opening: 0 if there is nothing that it could write of it. */
static uint64_t take_over(struct self *self, struct watch *watch, uint64_t op, uint64_t now)
{
	if (load_relaxed(&watch->holder_opening) == self->opening)
		return watch_take_hold(watch, op) ? op : 0;
	watch_end_hold(self, watch, now);
	return 0;
}

void hold_release(struct self *self, struct watch *watch, struct hold_release *release)
{
	uint64_t op = load_relaxed(&watch->holder_op);
	uint64_t start = load_relaxed(&watch->holder_start);
	uint64_t now = clock_now_ticks();

	if (op != 0 && UNLIKELY(op >> 32 != self->thread ||
				load_relaxed(&watch->holder_opening) != self->opening))
		op = take_over(self, watch, op & ~HANDLE_ENDING, now);
	/* It may have been raised to the end of the hold before. */
	if (now < start)
		now = start;
	release->waiters = load_seq_cst(&watch->waiters);
	release->hold.type = RECORD_NONE;
	release->pc = NULL;
	store_relaxed(&watch->last_ticks, now);
	/* `last_op` pairs with none: the unlock orders it for the thread that it lets in. */
	if (op == 0) {
		store_release(&watch->last_op, op_current(self));
		return;
	}
	release->hold = (struct record){
		.start = start,
		.end = now,
		.id = op,
		.parent = load_relaxed(&watch->holder_parent),
		.value = watch->address,
		.name = load_relaxed(&watch->ident),
		.stack = load_relaxed(&watch->holder_stack),
		.count = load_relaxed(&watch->hold_count),
		.fd = (int32_t)load_relaxed(&watch->holder_relock),
		.type = RECORD_OP,
		.what = KIND_HOLD,
		.outcome = OUTCOME_OK,
		.flags = load_relaxed(&watch->holder_flags),
	};
	store_release(&watch->last_op, op);
	release->is_open = op_release_hold(self, &release->hold);
	/* Release: pairs with watch_holder(): the drainer looks for the hold in our slot then. */
	store_release(&watch->holder_op, 0);
}

void hold_record(struct self *self, struct watch *watch, const struct hold_release *release)
{
	struct record hold = release->hold;

	assert(hold.type == RECORD_NONE || (field_is_hold(&hold) && hold.start <= hold.end));
	if (release->pc)
		hold.stack = stack_of(release->pc);
	if (hold.type != RECORD_NONE)
		op_end_hold(self, &hold, release->is_open);
	if (release->waiters > 0)
		wake_record(self, LINK_WAKE, watch, 1, 0, 0);
}
