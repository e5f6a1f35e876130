/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops, waits and links: what is open on a thread, and the records of what has ended.
 *
 * Open entries form a stack in the thread's slot, innermost last; entries[0] is the thread's op. An
 * entry leaves it when the op ends, from the middle too (locks are not always released in reverse
 * order), or when it turns out that its call never returned (longjmp, cancellation): then a later
 * call comes from a frame further up the same stack.
 *
 * Only the thread itself changes its entries, and each change follows the protocol of struct
 * open_entry: the fields are stored with release order after `handle` was cleared, so that the
 * drainer, which reads `handle`, the fields and `handle` again, never takes half an entry for a
 * whole one. The record of what ends is published before its entry is cleared: a drainer that finds
 * no entry finds the record.
 */
#include "op.h"

#include <assert.h>
#include <errno.h>

#include "chunk.h"
#include "clock.h"
#include "descriptors.h"
#include "handles.h"
#include "mark.h"
#include "stack.h"
#include "waiters.h"

#include "in_target.h"

/* Frames further than this below the thread's first one lie on another stack (a fiber's, a
 * signal stack). */
#define STACK_BYTES_MAX ((uintptr_t)8 << 20)

uint64_t op_min_io_ticks;
uint64_t op_brief_ticks;

/* --- Entries --------------------------------------------------------------------------------- */

/* Member by member, and inline: so a record that was just composed goes from registers to where it
 * belongs. Composed in memory, and read by larger words than it was written, it would wait there.
 * Release: see entry_write(); to a chunk it is published afterwards, and plain stores would do. */
static inline __attribute__((always_inline)) void record_write(struct record *to,
							       const struct record *record)
{
	store_release(&to->start, record->start);
	store_release(&to->end, record->end);
	store_release(&to->id, record->id);
	store_release(&to->parent, record->parent);
	store_release(&to->value, record->value);
	store_release(&to->name, record->name);
	store_release(&to->ident, record->ident);
	store_release(&to->stack, record->stack);
	store_release(&to->count, record->count);
	store_release(&to->fd, record->fd);
	store_release(&to->type, record->type);
	store_release(&to->what, record->what);
	store_release(&to->outcome, record->outcome);
	store_release(&to->flags, record->flags);
}

static inline __attribute__((always_inline)) void entry_write(struct open_entry *entry,
							      const struct record *record,
							      uint64_t handle, uint64_t frame)
{
	/* Release: who sees that the last tenant is gone sees its record, or where it moved. */
	store_release(&entry->handle, 0);
	record_write(&entry->record, record);
	store_release(&entry->frame, frame);
	/* Pairs with the drainer's load_acquire; earlier, it would read the entry's last tenant. */
	store_release(&entry->handle, handle);
}

static inline __attribute__((always_inline)) struct open_entry *entry_push(
	struct self *self, const struct record *record, uint64_t handle, const void *frame)
{
	struct open_entry *entry = &self->slot->entries[self->depth];

	if (UNLIKELY(self->depth == SLOT_ENTRIES)) {
		self_count(self, COUNTER_dropped_depth);
		return NULL;
	}
	entry_write(entry, record, handle, (uint64_t)(uintptr_t)frame);
	self->depth++;
	return entry;
}

static struct open_entry *entry_find(struct self *self, uint64_t handle)
{
	for (uint32_t i = self->depth; i-- > 0;)
		if (self->slot->entries[i].handle == handle)
			return &self->slot->entries[i];
	return NULL;
}

/* Entries above move down: a drainer that reads from the top sees each of them at least once. */
static __attribute__((noinline)) void entry_remove_below(struct self *self,
							 struct open_entry *entry)
{
	struct open_entry *last = &self->slot->entries[self->depth - 1];

	for (; entry < last; entry++)
		entry_write(entry, &entry[1].record, entry[1].handle, entry[1].frame);
	store_release(&last->handle, 0);
	self->depth--;
}

static inline void entry_remove(struct self *self, struct open_entry *entry)
{
	assert(self->depth > 0 && entry >= self->slot->entries &&
	       entry <= &self->slot->entries[self->depth - 1]);
	if (UNLIKELY(entry != &self->slot->entries[self->depth - 1])) {
		entry_remove_below(self, entry);
		return;
	}
	store_release(&entry->handle, 0);
	self->depth--;
}

static bool is_hold(const struct open_entry *entry)
{
	return entry->record.type == RECORD_OP && entry->record.what == KIND_HOLD;
}

/* Writes what has no entry. */
static inline __attribute__((always_inline)) void record_append(struct self *self,
								const struct record *record)
{
	struct record *place = chunk_place(self);

	if (UNLIKELY(!place))
		return;
	record_write(place, record);
	chunk_publish_placed(self, place);
	chunk_settle(self);
}

/* The place for an entry's record, with what is known of it so far; NULL: there is none. To be
 * completed there, and then entry_end(). */
static inline struct record *entry_place(struct self *self, const struct open_entry *entry)
{
	struct record *place = chunk_place(self);

	if (LIKELY(place))
		*place = entry->record;
	return place;
}

static inline __attribute__((always_inline)) void entry_end(struct self *self,
							    struct open_entry *entry,
							    const struct record *placed)
{
	if (LIKELY(placed))
		chunk_publish_placed(self, placed);
	if (UNLIKELY(is_hold(entry)))
		watch_drop_holder(entry->record.fd, entry->handle);
	entry_remove(self, entry);
	chunk_settle(self);
}

/* Ends an entry by force: its call will not return any more, or not while it is recorded. */
static void entry_close(struct self *self, struct open_entry *entry, uint64_t end_ticks,
			enum outcome outcome)
{
	uint64_t start = entry->record.start;
	struct record *place;

	if (entry->record.type == RECORD_ATTACHED) {
		entry_remove(self, entry);
		return;
	}
	if (entry->record.type == RECORD_WAIT)
		watch_wait_ends(watch_find((const void *)(uintptr_t)entry->record.value));
	place = entry_place(self, entry);
	if (place) {
		place->end = end_ticks > start ? end_ticks : start;
		if (place->type == RECORD_OP)
			place->outcome = (uint8_t)outcome;
		if (is_hold(entry))
			place->fd = -1;
	}
	entry_end(self, entry, place);
}

/*
 * Whether the call that opened `entry` is gone, now that a call of the same thread comes from
 * `frame`: its frame lies below on the same stack, or is the very same frame (a hook opens at most
 * one op and then one wait). A hold outlives the frame of its call.
 */
static bool is_abandoned(const struct self *self, const struct open_entry *entry, uintptr_t frame,
			 enum record_type type)
{
	uintptr_t top = (uintptr_t)self->stack_top;

	if (is_hold(entry) || entry->frame == 0 || frame > top ||
	    top - entry->frame > STACK_BYTES_MAX)
		return false;
	return entry->frame < frame ||
	       (entry->frame == frame && (entry->record.type == type || type == RECORD_OP));
}

/* Another thread has unlocked what this one held: it has written the record. */
static bool is_taken_hold(const struct open_entry *entry)
{
	return is_hold(entry) && entry->record.fd >= 0 &&
	       !watch_is_holder(entry->record.fd, entry->handle);
}

static bool is_released_hold(const struct open_entry *entry)
{
	return is_taken_hold(entry) || (is_hold(entry) && entry->record.fd == HOLD_RELEASED);
}

/* The program ended this op on another thread. */
static bool is_detached(const struct open_entry *entry)
{
	return entry->record.type == RECORD_ATTACHED &&
	       !handles_has(recorder_arena, (uint32_t)entry->record.fd, entry->record.id);
}

/* Other threads release what this one goes on taking: their entries are not in the way. */
static void drop_taken(struct self *self)
{
	for (uint32_t i = self->depth; i-- > 1;)
		if (is_taken_hold(&self->slot->entries[i]))
			entry_remove(self, &self->slot->entries[i]);
}

static __attribute__((noinline)) void tidy_entries(struct self *self, const void *frame,
						   enum record_type type)
{
	for (uint32_t i = self->depth; i-- > 1;) {
		struct open_entry *entry = &self->slot->entries[i];

		if (is_taken_hold(entry) || is_detached(entry)) {
			entry_remove(self, entry);
		} else if (is_abandoned(self, entry, (uintptr_t)frame, type)) {
			self_count(self, COUNTER_abandoned);
			entry_close(self, entry, clock_now_ticks(), OUTCOME_CANCELED);
		} else if (!is_hold(entry)) {
			break;
		}
	}
}

/* Clears away what ended without its thread's doing, before something new is opened. */
static inline void tidy(struct self *self, const void *frame, enum record_type type)
{
	if (self->depth > 1)
		tidy_entries(self, frame, type);
}

/* --- What the rest of the recorder needs ----------------------------------------------------- */

void op_begin_thread(struct self *self, uint64_t op, uint64_t parent, uint32_t tid,
		     const void *routine)
{
	struct record record = {
		.start = clock_now_ticks(),
		.id = op,
		.parent = parent,
		.value = (uint64_t)(uintptr_t)routine,
		.name = recorder_arena->thread_class,
		.count = tid,
		.fd = -1,
		.type = RECORD_OP,
		.what = KIND_THREAD,
	};

	assert(self->depth == 0);
	(void)entry_push(self, &record, op, NULL);
}

uint64_t op_begin_hold(struct self *self, const struct watch *watch, uint32_t watch_index,
		       uint32_t stack, const void *frame, uint64_t start_ticks)
{
	struct record record = {
		.start = start_ticks,
		.id = self_next_id(self),
		.parent = op_current(self),
		.value = watch->address,
		.name = watch->ident,
		.stack = stack,
		.count = load_relaxed(&watch->hold_count),
		.fd = (int32_t)watch_index,
		.type = RECORD_OP,
		.what = KIND_HOLD,
	};

	if (UNLIKELY(self->depth == SLOT_ENTRIES))
		drop_taken(self);
	return entry_push(self, &record, record.id, frame) ? record.id : 0;
}

/* Before the watch's holder changes: whoever sees that sees this. */
void op_release_hold(struct self *self, const struct record *hold)
{
	struct open_entry *entry = entry_find(self, hold->id);
	struct record open = *hold;

	open.end = 0;
	open.fd = HOLD_RELEASED;
	if (entry)
		store_release(&entry->record.fd, HOLD_RELEASED);
	else if (self->depth < SLOT_ENTRIES)
		(void)entry_push(self, &open, hold->id, NULL);
	/* Else a dump that is taken just now does not have it; the next one has. */
}

void op_end_hold(struct self *self, const struct record *hold)
{
	struct open_entry *entry = entry_find(self, hold->id);
	struct record *place;

	if (!entry) {
		(void)chunk_append(self, hold);
		return;
	}
	place = chunk_place(self);
	if (LIKELY(place))
		*place = *hold;
	entry_end(self, entry, place);
}

bool op_drop(struct self *self, uint64_t handle)
{
	struct open_entry *entry = handle ? entry_find(self, handle) : NULL;

	if (entry)
		entry_remove(self, entry);
	return entry != NULL;
}

void op_end_nested(struct self *self, uint64_t end_ticks, enum outcome outcome)
{
	while (self->depth > 1)
		entry_close(self, &self->slot->entries[self->depth - 1], end_ticks, outcome);
}

void op_end_forgotten(struct self *self, uint64_t end_ticks)
{
	for (uint32_t i = self->depth; i-- > 1;) {
		struct open_entry *entry = &self->slot->entries[i];

		if (entry->record.start <= end_ticks &&
		    (entry->record.type != RECORD_ATTACHED || is_detached(entry)))
			entry_close(self, entry, end_ticks, OUTCOME_NONE);
	}
}

void op_set_weight(struct self *self, uint32_t weight)
{
	if (self->depth)
		store_release(&self->slot->entries[0].record.fd, (int32_t)weight);
}

void op_end_all(struct self *self, uint64_t end_ticks, enum outcome outcome, uint32_t ident)
{
	op_end_nested(self, end_ticks, outcome);
	if (self->depth == 0)
		return;
	assert(self->slot->entries[0].record.what == KIND_THREAD);
	store_release(&self->slot->entries[0].record.ident, ident);
	entry_close(self, &self->slot->entries[0], end_ticks, OUTCOME_OK);
}

/* Set in an attachment's handle, so that it is not taken for the op's own. */
#define ATTACHED_HANDLE (UINT64_C(1) << 62)

void op_attach(struct self *self, uint64_t op, uint32_t index, uint8_t flags)
{
	struct record record = {
		.start = clock_now_ticks(),
		.id = op,
		.fd = (int32_t)index,
		.type = RECORD_ATTACHED,
		.flags = flags,
	};

	tidy(self, NULL, RECORD_ATTACHED);
	(void)entry_push(self, &record, op | ATTACHED_HANDLE, NULL);
}

bool op_detach(struct self *self, uint64_t op)
{
	return op_drop(self, op | ATTACHED_HANDLE);
}

bool op_is_in_flow(const struct self *self)
{
	for (uint32_t i = self->slot ? self->depth : 0; i-- > 0;) {
		const struct open_entry *entry = &self->slot->entries[i];

		if (entry->record.type == RECORD_ATTACHED && entry->record.flags & RECORD_FLOW &&
		    !is_detached(entry))
			return true;
	}
	return false;
}

/* --- What the hooks call --------------------------------------------------------------------- */

uint64_t op_current(const struct self *self)
{
	const struct slot *slot = self->slot;

	for (uint32_t i = self->depth; i-- > 0;) {
		const struct open_entry *entry = &slot->entries[i];

		if (entry->record.type == RECORD_OP
			    ? !is_released_hold(entry)
			    : entry->record.type == RECORD_ATTACHED && !is_detached(entry))
			return entry->record.id;
	}
	return slot->op;
}

static inline __attribute__((always_inline)) uint64_t begin_op(struct self *self, enum kind kind,
							       uint32_t name, uint64_t value,
							       int fd, uint32_t stack,
							       const void *frame)
{
	struct record record = {
		.value = value,
		.name = name,
		.stack = stack,
		.fd = kind == KIND_HOLD ? -1 : fd,
		.type = RECORD_OP,
		.what = (uint8_t)kind,
	};

	tidy(self, frame, RECORD_OP);
	if (record.fd >= 0)
		descriptors_describe(self, &record);
	record.parent = op_current(self);
	record.id = self_next_id(self);
	record.start = clock_now_ticks();
	return entry_push(self, &record, record.id, frame) ? record.id : 0;
}

uint64_t op_begin(struct self *self, enum kind kind, uint32_t name, uint64_t value, int fd,
		  uint32_t stack, const void *frame)
{
	return begin_op(self, kind, name, value, fd, stack, frame);
}

uint64_t op_begin_call(enum kind kind, uint32_t name, int fd, const void *pc, const void *frame)
{
	struct self *self = self_begin(__builtin_frame_address(0));
	uint64_t op;

	if (UNLIKELY(!self))
		return 0;
	op = begin_op(self, kind, name, 0, fd, stack_capture(self, pc, frame), frame);
	self_end(self);
	return op;
}

static bool may_block(enum kind kind)
{
	return kind == KIND_IO || kind == KIND_POLL || kind == KIND_SLEEP || kind == KIND_DNS;
}

static inline bool is_skipped(struct self *self, const struct record *record, uint64_t now,
			      bool is_brief)
{
	uint64_t ticks = now - record->start;

	if (record->what == KIND_IO && ticks < load_relaxed(&op_min_io_ticks))
		self_count(self, COUNTER_skipped_io);
	else if (is_brief && ticks < op_brief_ticks)
		self_count(self, COUNTER_skipped_brief);
	else
		return false;
	return true;
}

static inline __attribute__((always_inline)) void end_op(struct self *self, uint64_t op,
							 enum outcome outcome, uint64_t value,
							 uint64_t now, bool is_brief)
{
	struct open_entry *entry = entry_find(self, op);
	struct record *place;
	enum kind kind;

	if (UNLIKELY(!entry)) {
		self_count(self, COUNTER_lost_ends);
		return;
	}
	kind = (enum kind)entry->record.what;
	if (is_skipped(self, &entry->record, now, is_brief)) {
		entry_remove(self, entry);
	} else {
		place = entry_place(self, entry);
		if (LIKELY(place)) {
			place->end = now;
			place->value = value;
			place->outcome = (uint8_t)outcome;
			if (kind == KIND_IO && (int64_t)value < 0)
				place->outcome = OUTCOME_ERROR;
		}
		entry_end(self, entry, place);
	}
	if (may_block(kind))
		mark_if_due(self, now);
}

void op_end(struct self *self, uint64_t op, enum outcome outcome, uint64_t value)
{
	end_op(self, op, outcome, value, clock_now_ticks(), false);
}

void op_end_brief(struct self *self, uint64_t op, enum outcome outcome, uint64_t value)
{
	end_op(self, op, outcome, value, clock_now_ticks(), true);
}

/* The clock comes first: what follows is not the program's. */
void op_end_call(uint64_t op, enum outcome outcome, uint64_t value, bool is_brief)
{
	uint64_t now = clock_now_ticks();
	struct self *self = self_begin(__builtin_frame_address(0));

	if (UNLIKELY(!self))
		return;
	end_op(self, op, outcome, value, now, is_brief);
	self_end(self);
}

void op_set_ident(struct self *self, uint64_t op, uint32_t ident)
{
	struct open_entry *entry = entry_find(self, op);

	if (entry)
		store_release(&entry->record.ident, ident);
}

void op_set_count(struct self *self, uint64_t op, uint32_t count)
{
	struct open_entry *entry = entry_find(self, op);

	if (entry)
		store_release(&entry->record.count, count);
}

void op_set_flags(struct self *self, uint64_t op, uint8_t flags)
{
	struct open_entry *entry = entry_find(self, op);

	if (entry)
		store_release(&entry->record.flags, (uint8_t)(entry->record.flags | flags));
}

void op_set_descriptor(struct self *self, uint64_t op, int fd)
{
	struct open_entry *entry = fd >= 0 ? entry_find(self, op) : NULL;
	struct record record = { .fd = fd };

	if (!entry)
		return;
	descriptors_describe(self, &record);
	store_release(&entry->record.fd, fd);
	store_release(&entry->record.ident, record.ident);
	store_release(&entry->record.flags, (uint8_t)(entry->record.flags | record.flags));
}

void op_set_ready(struct self *self, uint64_t op, int fd)
{
	struct open_entry *entry = fd >= 0 ? entry_find(self, op) : NULL;
	struct record record = { .fd = fd };

	if (!entry)
		return;
	descriptors_describe(self, &record);
	store_release(&entry->record.ident, record.ident);
}

void op_set_other(struct self *self, uint64_t op, int fd)
{
	struct open_entry *entry = fd >= 0 ? entry_find(self, op) : NULL;
	struct record record = { .fd = fd };

	if (!entry)
		return;
	descriptors_describe(self, &record);
	store_release(&entry->record.count, record.ident);
}

uint64_t wait_begin(struct self *self, enum reason reason, uint32_t name, const void *address,
		    uint32_t ident, uint32_t stack, const void *frame)
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

	tidy(self, frame, RECORD_WAIT);
	record.parent = op_current(self);
	handle = self_next_id(self);
	record.start = clock_now_ticks();
	return entry_push(self, &record, handle, frame) ? handle : 0;
}

void wait_held_by(struct self *self, uint64_t wait, uint32_t tid)
{
	struct open_entry *entry = tid > 0 && wait ? entry_find(self, wait) : NULL;

	if (entry)
		store_release(&entry->record.fd, (int32_t)tid);
}

void wait_end(struct self *self, uint64_t wait, uint64_t target_op, uint8_t flags)
{
	uint64_t now = clock_now_ticks();
	struct open_entry *entry = entry_find(self, wait);
	struct record *place;

	if (UNLIKELY(!entry)) {
		self_count(self, COUNTER_lost_ends);
		return;
	}
	place = entry_place(self, entry);
	if (LIKELY(place)) {
		place->end = now;
		place->id = target_op;
		place->flags |= flags;
	}
	entry_end(self, entry, place);
	mark_if_due(self, now);
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

	record_append(self, &record);
	mark_if_due(self, now);
}

void link_record(struct self *self, enum link_kind kind, uint64_t to_op, const void *address,
		 uint32_t ident, uint32_t count)
{
	uint64_t now = clock_now_ticks();
	struct record record = {
		.start = now,
		.end = now,
		.id = to_op,
		/* A nested client belongs to the op that started it. */
		.parent = kind == LINK_NESTED_CLIENT ? to_op : op_current(self),
		.value = (uint64_t)(uintptr_t)address,
		.name = self->thread,
		.ident = ident,
		.count = count,
		.fd = -1,
		.type = RECORD_LINK,
		.what = (uint8_t)kind,
	};

	(void)chunk_append(self, &record);
}

static inline __attribute__((always_inline)) void wake_append(
	struct self *self, enum link_kind kind, const struct watch *watch, uint32_t count,
	uint8_t flags, uint32_t stack, uint64_t op, uint64_t now)
{
	struct record record = {
		.start = now,
		.end = now,
		.parent = op,
		.value = watch->address,
		.name = self->thread,
		.ident = watch->ident,
		.stack = stack,
		.count = count,
		.fd = -1,
		.type = RECORD_LINK,
		.what = (uint8_t)kind,
		.flags = flags,
	};

	record_append(self, &record);
}

void wake_record(struct self *self, enum link_kind kind, const struct watch *watch, uint32_t count,
		 uint8_t flags, uint32_t stack)
{
	wake_append(self, kind, watch, count, flags, stack, op_current(self), clock_now_ticks());
}

void wake_announce(struct self *self, enum link_kind kind, struct watch *watch, uint32_t count,
		   uint8_t flags, uint32_t stack)
{
	uint64_t op = op_current(self);
	uint64_t now = clock_now_ticks();

	/* Relaxed: the wake itself, which follows, orders them for whom it wakes. */
	store_relaxed(&watch->last_op, op);
	store_relaxed(&watch->last_ticks, now);
	wake_append(self, kind, watch, count, flags, stack, op, now);
}

void init_record(struct self *self, const void *address, uint32_t stack)
{
	uint64_t now = clock_now_ticks();
	struct record record = {
		.start = now,
		.end = now,
		.parent = op_current(self),
		.value = (uint64_t)(uintptr_t)address,
		.name = self->thread,
		.stack = stack,
		.fd = -1,
		.type = RECORD_LINK,
		.what = LINK_INIT,
	};

	(void)chunk_append(self, &record);
}

uint64_t op_reserve(struct self *self)
{
	return self_next_id(self);
}
