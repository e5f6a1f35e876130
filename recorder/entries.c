/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries that end out of order, or not at all; see entries.h.
 */
#include "entries.h"

#include <assert.h>

#include "clock.h"
#include "handles.h"

#include "in_target.h"

/* Frames further than this below the thread's first one lie on another stack (a fiber's, a
 * signal stack). */
#define STACK_BYTES_MAX ((uintptr_t)8 << 20)

void entry_remove_below(struct self *self, struct open_entry *entry)
{
	struct open_entry *last = &self->slot->entries[self->depth - 1];

	for (; entry < last; entry++)
		entry_write(entry, &entry[1].record, entry[1].handle, entry[1].frame);
	store_release(&last->handle, 0);
	self->depth--;
}

/* Whether there is a record to write: another thread may have written that of a hold. */
static bool is_ours(const struct open_entry *entry, uint64_t end_ticks)
{
	if (entry->record.type == RECORD_ATTACHED)
		return false;
	return !entry_is_hold(entry) ||
	       watch_take_hold_at(field_watch(&entry->record), entry->handle, entry->record.start,
				  end_ticks);
}

/* Its record, for which there is a chunk. A function of its own: what takes a chunk needs stack. */
static __attribute__((noinline)) void write_end(struct self *self, const struct record *record,
						uint64_t end_ticks, enum outcome outcome)
{
	struct packed_end ended = packed_end_of(record);

	/* A lock that was released, before its record was written. */
	if (ended.end == 0)
		ended.end = end_ticks;
	if (ended.end < record->start)
		ended.end = record->start;
	if (record->type == RECORD_OP)
		ended.type = (ended.type & ~(UINT32_C(255) << TYPE_OUTCOME)) |
			     (uint32_t)outcome << TYPE_OUTCOME;
	if (field_is_hold(record))
		ended.fd = -1;
	if (record->type == RECORD_OP && record->what == KIND_THREAD)
		chunk_count_thread(self->chunk);
	chunk_publish_ended(self, record, ended.end, ended.id, ended.value,
			    (uint32_t)ended.fd | (uint64_t)ended.type << 32);
}

static void end(struct self *self, struct open_entry *entry, uint64_t end_ticks,
		enum outcome outcome)
{
	assert(entry >= self->slot->entries && entry < &self->slot->entries[self->depth]);
	if (!is_ours(entry, end_ticks)) {
		entry_remove(self, entry);
		return;
	}
	if (chunk_is_there(self))
		write_end(self, &entry->record, end_ticks, outcome);
	entry_let_go(self, entry);
}

void entry_close(struct self *self, struct open_entry *entry, uint64_t end_ticks,
		 enum outcome outcome)
{
	if (entry->record.type == RECORD_WAIT)
		watch_wait_ends(watch_find((const void *)(uintptr_t)entry->record.value));
	end(self, entry, end_ticks, outcome);
}

void entry_cut(struct self *self, struct open_entry *entry, uint64_t end_ticks)
{
	end(self, entry, end_ticks, OUTCOME_NONE);
}

/*
 * Whether the call that opened `entry` is gone, now that a call of the same thread comes from
 * `frame`. Then its frame lies below on the same stack, or is the very same: a hook opens at most
 * one op and then one wait. A hold outlives the frame of its call.
 */
static bool is_abandoned(const struct self *self, const struct open_entry *entry, uintptr_t frame,
			 enum record_type type)
{
	uintptr_t top = (uintptr_t)self->stack_top;

	if (entry_is_hold(entry) || entry->frame == 0 || frame > top ||
	    top - entry->frame > STACK_BYTES_MAX)
		return false;
	return entry->frame < frame ||
	       (entry->frame == frame && (entry->record.type == type || type == RECORD_OP));
}

bool entry_is_taken(const struct open_entry *entry)
{
	return entry_is_hold(entry) && field_watch(&entry->record) >= 0 &&
	       !watch_is_holder(field_watch(&entry->record), entry->handle);
}

bool entry_is_detached(const struct open_entry *entry)
{
	return entry->record.type == RECORD_ATTACHED &&
	       !handles_has(recorder_arena, field_handle(&entry->record), entry->record.id);
}

void entries_drop_taken(struct self *self)
{
	for (uint32_t i = self->depth; i-- > 1;)
		if (entry_is_taken(&self->slot->entries[i]))
			entry_remove(self, &self->slot->entries[i]);
}

void entries_tidy_all(struct self *self, const void *frame, enum record_type type)
{
	for (uint32_t i = self->depth; i-- > 1;) {
		struct open_entry *entry = &self->slot->entries[i];

		if (entry_is_taken(entry) || entry_is_detached(entry)) {
			entry_remove(self, entry);
		} else if (is_abandoned(self, entry, (uintptr_t)frame, type)) {
			self_count(self, COUNTER_abandoned);
			entry_close(self, entry, clock_now_ticks(), OUTCOME_CANCELED);
		} else if (!entry_is_hold(entry)) {
			break;
		}
	}
}
