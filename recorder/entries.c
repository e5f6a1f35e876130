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

static void end(struct self *self, struct open_entry *entry, uint64_t end_ticks,
		enum outcome outcome)
{
	uint64_t start = entry->record.start;
	struct record *place;

	assert(entry >= self->slot->entries && entry < &self->slot->entries[self->depth]);
	if (!is_ours(entry, end_ticks)) {
		entry_remove(self, entry);
		return;
	}
	place = entry_place(self, entry);
	if (place) {
		/* A lock that was released, before its record was written. */
		if (place->end != 0)
			end_ticks = place->end;
		place->end = end_ticks > start ? end_ticks : start;
		if (place->type == RECORD_OP)
			place->outcome = (uint8_t)outcome;
		if (entry_is_hold(entry))
			place->fd = -1;
	}
	entry_end(self, entry, place);
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
