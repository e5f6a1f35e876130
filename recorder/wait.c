/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits: begun and ended as ops are, on the program's threads; entries.h has what is open.
 */
#include "op.h"

#include <assert.h>

#include "clock.h"
#include "context.h"
#include "entries.h"
#include "mark.h"
#include "opening.h"
#include "requests.h"
#include "slow.h"

#include "in_target.h"

static inline __attribute__((always_inline)) uint64_t begin_wait(
	struct self *self, enum reason reason, uint32_t name, const void *address, uint32_t ident,
	uint32_t stack, const void *frame, uint64_t since_ticks)
{
	struct record record = {
		.value = (uint64_t)(uintptr_t)address,
		.name = name,
		.ident = ident,
		.stack = stack,
		.count = self->thread,
		.fd = -1,
		.type = RECORD_WAIT,
		.what = (uint8_t)reason,
	};
	uint64_t handle;

	entries_tidy(self, frame, RECORD_WAIT);
	context_follow_since(self, since_ticks);
	record.parent = op_current(self);
	handle = self_next_id(self);
	record.start = since_ticks ? since_ticks : clock_now_ticks();
	return entry_push(self, &record, handle, frame) ? handle : 0;
}

uint64_t wait_begin(struct self *self, enum reason reason, uint32_t name, const void *address,
		    uint32_t ident, uint32_t stack, const void *frame)
{
	return begin_wait(self, reason, name, address, ident, stack, frame, 0);
}

uint64_t wait_inside_since(void)
{
	const struct self *self = &self_of_thread;

	/* Pairs with the store that turns recording on: the arena and its opening are there. */
	if (load_acquire(&recorder_gate.mode) != GATE_ON || self->busy || self->retired ||
	    self->muted || self->refusals)
		return 0;
	if (self->slot && self->opening == opening_now(recorder_arena))
		return 0;
	return opening_begun(recorder_arena);
}

uint64_t wait_begin_inside(struct self *self, uint64_t since_ticks, enum reason reason,
			   uint32_t name, const void *address, uint32_t ident, uint32_t stack,
			   const void *frame)
{
	assert(since_ticks > 0);
	op_backdate_thread(self, since_ticks);
	return begin_wait(self, reason, name, address, ident, stack, frame, since_ticks);
}

void wait_held_by(struct self *self, uint64_t wait, uint32_t tid)
{
	struct open_entry *entry = tid > 0 && wait ? entry_find(self, wait) : NULL;

	/* Pairs with opens.c, which reads `handle`, the fields and `handle` again. */
	if (entry)
		store_release(&entry->record.fd, (int32_t)tid);
}

void wait_set_address(struct self *self, uint64_t wait, uint64_t address)
{
	struct open_entry *entry = wait ? entry_find(self, wait) : NULL;

	/* Pairs as above. */
	if (entry)
		store_release(&entry->record.value, address);
}

/* It may have been for something to do. */
static bool is_for_work(const struct record *wait)
{
	return wait->what == REASON_COND || wait->what == REASON_SEM || wait->what == REASON_FUTEX;
}

void wait_end(struct self *self, uint64_t wait, uint64_t target_op, uint8_t flags)
{
	uint64_t now = clock_now_ticks();
	struct open_entry *entry = entry_find(self, wait);

	if (UNLIKELY(!entry)) {
		self_count(self, COUNTER_lost_ends);
		return;
	}
	if (ops_may_take_longer())
		slow_waited(self, now - entry->record.start);
	if (requests_are_followed() && is_for_work(&entry->record))
		requests_note_wait(self);
	entry_end(self, entry, &entry->record,
		  (struct packed_end){
			  .end = now,
			  .id = target_op,
			  .value = entry->record.value,
			  .type = packed_type(&entry->record) | (uint32_t)flags << TYPE_FLAGS,
			  .fd = entry->record.fd,
		  });
	mark_if_due(self, now);
}

/* A point of CLOCK_REALTIME is decades ahead of the other clock. */
static uint64_t late_ns(const struct timespec *until)
{
	uint64_t until_ns =
		(uint64_t)until->tv_sec * UINT64_C(1000000000) + (uint64_t)until->tv_nsec;
	uint64_t now_ns = clock_mono_ns();

	if (until_ns > now_ns)
		now_ns = recorder_clock_ns(CLOCK_REALTIME);
	return now_ns > until_ns ? now_ns - until_ns : 0;
}

void wait_end_late(struct self *self, uint64_t wait, const struct timespec *until)
{
	wait_end(self, wait, late_ns(until), RECORD_TIMED_OUT);
}

void wait_end_brief(struct self *self, uint64_t wait, uint64_t target_op, uint8_t flags)
{
	const struct open_entry *entry = entry_find(self, wait);

	if (entry && clock_now_ticks() - entry->record.start < op_brief_ticks) {
		self_count(self, COUNTER_skipped_brief);
		(void)op_drop(self, wait);
		return;
	}
	wait_end(self, wait, target_op, flags);
}

void wait_drop(struct self *self, uint64_t wait)
{
	(void)op_drop(self, wait);
}

void wait_met(struct self *self, enum reason reason, uint32_t name, const void *address,
	      uint32_t ident, uint64_t target_op)
{
	uint64_t now = clock_now_ticks();
	struct record record = {
		.start = now,
		.end = now,
		.id = target_op,
		.parent = op_current(self),
		.value = (uint64_t)(uintptr_t)address,
		.name = name,
		.ident = ident,
		.count = self->thread,
		.fd = -1,
		.type = RECORD_WAIT,
		.what = (uint8_t)reason,
	};

	entry_append(self, &record);
	mark_if_due(self, now);
}
