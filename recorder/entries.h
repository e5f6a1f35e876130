/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open ops and waits of a thread: the stack of entries in its slot, innermost last.
 *
 * entries[0] is the thread's op. An entry leaves the stack when its op or wait ends, from the
 * middle too: locks are not always released in reverse order. An entry whose call never returned
 * (longjmp, cancellation) leaves when a later call comes from a frame further up the same stack.
 *
 * Only the thread itself changes its entries, and each change follows the protocol of struct
 * open_entry. The fields are stored with release order after `handle` was cleared. The drainer
 * reads `handle`, the fields and `handle` again, and so never takes half an entry for a whole one.
 * A record is published before its entry is cleared: a drainer that finds no entry finds the
 * record.
 *
 * The way of every recorded call is inline here; entries.c has the rest.
 */
#ifndef WCPROF_ENTRIES_H
#define WCPROF_ENTRIES_H

#include <assert.h>

#include "chunk.h"
#include "fields.h"
#include "self.h"
#include "watch.h"

/* Entries above move down: a drainer that reads from the top sees each of them at least once. */
void entry_remove_below(struct self *, struct open_entry *) HIDDEN;
/* Ends an entry by force: its call will not return any more, or not while it is recorded. */
void entry_close(struct self *, struct open_entry *, uint64_t end_ticks, enum outcome) HIDDEN;
/* Ends what goes on, though not for the recording: its call may return all the same. */
void entry_cut(struct self *, struct open_entry *, uint64_t end_ticks) HIDDEN;
/* Another thread has unlocked what this one held: it has written the record. */
bool entry_is_taken(const struct open_entry *) HIDDEN;
/* The program ended this op on another thread. */
bool entry_is_detached(const struct open_entry *) HIDDEN;
/* Other threads release what this one goes on taking: their entries are not in the way. */
void entries_drop_taken(struct self *) HIDDEN;
/* entries_tidy() where there is something to look at. */
void entries_tidy_all(struct self *, const void *frame, enum record_type) HIDDEN;

/* Member by member, and inline: so a record that was just composed goes from registers to where it
 * belongs. Composed in memory, and read by larger words than it was written, it would wait there.
 * Release: see entry_write(). */
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

static inline struct open_entry *entry_find(struct self *self, uint64_t handle)
{
	for (uint32_t i = self->depth; i-- > 0;)
		if (self->slot->entries[i].handle == handle)
			return &self->slot->entries[i];
	return NULL;
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

static inline bool entry_is_hold(const struct open_entry *entry)
{
	return field_is_hold(&entry->record);
}

/* Writes what has no entry. */
static inline __attribute__((always_inline)) void entry_append(struct self *self,
							       const struct record *record)
{
	chunk_publish_composed(self, record);
	chunk_settle(self);
}

/* Its record is written. */
static inline __attribute__((always_inline)) void entry_let_go(struct self *self,
							       struct open_entry *entry)
{
	if (UNLIKELY(entry_is_hold(entry)))
		watch_drop_holder(field_watch(&entry->record), entry->handle);
	entry_remove(self, entry);
	chunk_settle(self);
}

/* Ends an entry, with this record, which may be the entry's. */
static inline __attribute__((always_inline)) void entry_end(struct self *self,
							    struct open_entry *entry,
							    const struct record *record,
							    struct packed_end ended)
{
	if (chunk_is_there(self))
		chunk_publish_ended(self, record, ended.end, ended.id, ended.value,
				    (uint32_t)ended.fd | (uint64_t)ended.type << 32);
	entry_let_go(self, entry);
}

/* Clears away what ended without its thread's doing, before something new is opened. */
static inline void entries_tidy(struct self *self, const void *frame, enum record_type type)
{
	if (self->depth > 1)
		entries_tidy_all(self, frame, type);
}

#endif
