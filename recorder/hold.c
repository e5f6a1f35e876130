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
#include "fields.h"
#include "op.h"
#include "record.h"
#include "self.h"
#include "stack.h"

#include "in_target.h"

static uint32_t index_of(const struct watch *watch)
{
	return (uint32_t)(watch - (struct watch *)arena_at(recorder_arena, ARENA_WATCHES));
}

void hold_begin(struct self *self, struct watch *watch, uint32_t stack, const void *frame)
{
	uint64_t now = clock_now_ticks();
	uint64_t last = load_relaxed(&watch->last_ticks);
	/* The counter is read out of order by nanoseconds: holds of a lock must not overlap. */
	uint64_t start = now > last ? now : last;
	uint64_t parent = op_current(self);
	uint64_t op;

	if (load_relaxed(&recorder_holds) == HOLDS_NONE)
		return;
	store_relaxed(&watch->hold_count, load_relaxed(&watch->hold_count) + 1);
	op = op_begin_hold(self, watch, index_of(watch), stack, frame, start);
	store_relaxed(&watch->holder_relock, 0);
	store_relaxed(&watch->holder_flags, 0);
	store_relaxed(&watch->holder_parent, parent);
	store_relaxed(&watch->holder_start, start);
	store_relaxed(&watch->holder_stack, stack);
	store_relaxed(&watch->holder_thread, self->thread);
	/* Pairs with blocked.c and opens.c: whoever sees the hold sees whose it is. */
	store_release(&watch->holder_op, op);
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

void hold_begin_late(struct self *self, struct watch *watch, uint64_t last_ticks, uint32_t nth)
{
	uint64_t hot = load_relaxed(&watch->hot_ticks);
	uint64_t before = load_relaxed(&watch->last_ticks);
	uint64_t start = last_ticks;

	assert(nth > 0);
	if (load_relaxed(&recorder_holds) == HOLDS_NONE || load_relaxed(&watch->holder_op) != 0)
		return;
	/* Locks that it took one after the other without a record took equally long. */
	if (hot > start)
		start = hot - (hot - start) / nth;
	if (start < before)
		start = before;
	store_relaxed(&watch->holder_relock, 0);
	store_relaxed(&watch->holder_flags, 0);
	store_relaxed(&watch->holder_parent, op_current(self));
	store_relaxed(&watch->holder_start, start);
	store_relaxed(&watch->holder_stack, 0);
	store_relaxed(&watch->holder_thread, self->thread);
	store_relaxed(&watch->hold_count, load_relaxed(&watch->hold_count) + 1);
	/* As in hold_begin(). */
	store_release(&watch->holder_op, self_next_id(self));
}

void hold_release(struct self *self, struct watch *watch, struct hold_release *release)
{
	uint64_t op = load_relaxed(&watch->holder_op);
	uint64_t start = load_relaxed(&watch->holder_start);
	uint64_t now = clock_now_ticks();

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
	op_release_hold(self, &release->hold);
	/* Release: pairs with the drainer, which looks for the hold in our slot then. */
	store_release(&watch->holder_op, 0);
}

void hold_record(struct self *self, struct watch *watch, const struct hold_release *release)
{
	struct record hold = release->hold;

	assert(hold.type == RECORD_NONE || (field_is_hold(&hold) && hold.start <= hold.end));
	if (release->pc)
		hold.stack = stack_of(release->pc);
	if (hold.type != RECORD_NONE)
		op_end_hold(self, &hold);
	if (release->waiters > 0)
		wake_record(self, LINK_WAKE, watch, 1, 0, 0);
}
