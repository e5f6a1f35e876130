/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops: begun, completed with what is learnt of them, ended; entries.h has the open ones.
 *
 * Runs on the program's threads, each with entries of its own. An end of an op that is not open
 * here is counted, and the op never looked for elsewhere.
 */
#include "op.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include "clock.h"
#include "context.h"
#include "descriptors.h"
#include "destinations.h"
#include "entries.h"
#include "filelocks.h"
#include "handles.h"
#include "mark.h"
#include "opening.h"
#include "requests.h"
#include "slow.h"
#include "stack.h"
#include "syscalls.h"
#include "tasks.h"

#include "in_target.h"

enum { PAGE_BYTES = 4096 };

uint64_t op_min_io_ticks;
uint64_t op_brief_ticks;

void op_know_brief(void)
{
	if (load_relaxed(&op_brief_ticks) == 0)
		store_relaxed(&op_brief_ticks,
			      ((uint64_t)OP_BRIEF_NS << 32) / clock_own_rate(CLOCK_APART_LEAST_NS));
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

void op_backdate_thread(struct self *self, uint64_t since_ticks)
{
	struct open_entry *entry = &self->slot->entries[0];

	assert(self->depth > 0 && entry->record.what == KIND_THREAD);
	/* Pairs with opens.c, which reads `handle`, the fields and `handle` again. */
	if (entry->record.start > since_ticks)
		store_release(&entry->record.start, since_ticks);
}

uint64_t op_begin_hold(struct self *self, const struct watch *watch, uint32_t watch_index,
		       uint64_t parent, uint32_t stack, const void *frame, uint64_t start_ticks)
{
	struct record record = {
		.start = start_ticks,
		.id = self_next_id(self),
		.parent = parent,
		.value = watch->address,
		.name = watch->ident,
		.stack = stack,
		.count = load_relaxed(&watch->hold_count),
		.fd = (int32_t)watch_index,
		.type = RECORD_OP,
		.what = KIND_HOLD,
	};

	assert(watch_index < WATCHES_MAX && load_relaxed(&watch->type) != WATCH_FREE);
	if (UNLIKELY(self->depth == SLOT_ENTRIES))
		entries_drop_taken(self);
	return entry_push(self, &record, record.id, frame) ? record.id : 0;
}

/* Before the watch's holder changes: whoever sees that sees this. */
bool op_release_hold(struct self *self, const struct record *hold)
{
	struct open_entry *entry = entry_find(self, hold->id);
	struct record open = *hold;

	assert(field_is_hold(hold) && hold->id != 0);
	open.fd = HOLD_RELEASED;
	if (entry) {
		store_release(&entry->record.end, hold->end);
		store_release(&entry->record.fd, HOLD_RELEASED);
	} else if (self->depth < SLOT_ENTRIES) {
		entry = entry_push(self, &open, hold->id, NULL);
	}
	/* Else a dump that is taken just now does not have it; the next one has. */
	return entry != NULL;
}

void op_end_hold(struct self *self, const struct record *hold, bool was_open)
{
	struct open_entry *entry = entry_find(self, hold->id);

	if (entry)
		entry_end(self, entry, hold, packed_end_of(hold));
	else if (!was_open)
		(void)chunk_append(self, hold);
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

void op_end_forgotten(struct self *self, uint32_t opening)
{
	uint64_t now = clock_now_ticks();

	for (uint32_t i = self->depth; i-- > 1;) {
		struct open_entry *entry = &self->slot->entries[i];
		uint64_t cut = opening_cut(recorder_arena, opening, entry->record.start);

		if (entry->record.type != RECORD_ATTACHED || entry_is_detached(entry))
			entry_cut(self, entry, cut != 0 ? cut : now);
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

	assert(index < HANDLES_MAX && (op & ATTACHED_HANDLE) == 0);
	entries_tidy(self, NULL, RECORD_ATTACHED);
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
		    !entry_is_detached(entry))
			return true;
	}
	return false;
}

/* --- What the hooks call --------------------------------------------------------------------- */

static bool is_released(const struct open_entry *entry)
{
	return entry_is_hold(entry) && (field_is_released(&entry->record) || entry_is_taken(entry));
}

uint64_t op_current(const struct self *self)
{
	const struct slot *slot = self->slot;

	for (uint32_t i = self->depth; i-- > 0;) {
		const struct open_entry *entry = &slot->entries[i];

		if (entry->record.type == RECORD_OP
			    ? !is_released(entry)
			    : entry->record.type == RECORD_ATTACHED && !entry_is_detached(entry))
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

	entries_tidy(self, frame, RECORD_OP);
	context_follow(self);
	if (record.fd >= 0)
		descriptors_describe(self, &record);
	record.parent = op_current(self);
	record.id = self_next_id(self);
	record.start = clock_now_ticks();
	if (UNLIKELY(!entry_push(self, &record, record.id, frame)))
		return 0;
	if (ops_may_take_longer())
		slow_begin(self, record.id, stack);
	return record.id;
}

uint64_t op_begin(struct self *self, enum kind kind, uint32_t name, uint64_t value, int fd,
		  uint32_t stack, const void *frame)
{
	return begin_op(self, kind, name, value, fd, stack, frame);
}

uint64_t op_moment(struct self *self, uint32_t name, uint32_t stack, const void *frame,
		   const struct op_values *values, uint64_t at_ticks)
{
	struct record record = {
		.value = values->first,
		.name = name,
		.stack = stack,
		.ident = values->first_name,
		.count = values->second,
		.fd = (int32_t)values->second_name,
		.type = RECORD_OP,
		.what = KIND_OP_USER,
		.outcome = OUTCOME_OK,
		.flags = values->types,
	};

	entries_tidy(self, frame, RECORD_OP);
	context_follow(self);
	record.parent = op_current(self);
	record.id = self_next_id(self);
	record.start = record.end = at_ticks;
	entry_append(self, &record);
	return record.id;
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

	if (UNLIKELY(ticks < load_relaxed(&op_min_io_ticks)) && descriptors_is_of_files(record))
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
	const struct record *record;
	enum kind kind;

	if (UNLIKELY(!entry)) {
		self_count(self, COUNTER_lost_ends);
		return;
	}
	record = &entry->record;
	kind = (enum kind)record->what;
	if (requests_are_followed())
		requests_note_call(self, record, (int64_t)value, now);
	if (is_skipped(self, record, now, is_brief)) {
		entry_remove(self, entry);
	} else {
		if (kind == KIND_IO && (int64_t)value < 0)
			outcome = OUTCOME_ERROR;
		assert(record->outcome == OUTCOME_NONE);
		entry_end(self, entry, record,
			  (struct packed_end){
				  .end = now,
				  .id = record->id,
				  .value = value,
				  .type = packed_type(record) | (uint32_t)outcome << TYPE_OUTCOME,
				  .fd = record->fd,
			  });
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

/* A dump that has it as an open op has no values of it. */
void op_end_probed(struct self *self, uint64_t op, enum outcome outcome,
		   const struct op_values *values, uint64_t end_ticks)
{
	struct open_entry *entry = entry_find(self, op);

	if (UNLIKELY(!entry)) {
		self_count(self, COUNTER_lost_ends);
		return;
	}
	store_release(&entry->record.ident, values->first_name);
	store_release(&entry->record.count, values->second);
	entry_end(self, entry, &entry->record,
		  (struct packed_end){
			  .end = end_ticks,
			  .id = entry->record.id,
			  .value = values->first,
			  .type = packed_type(&entry->record) | (uint32_t)outcome << TYPE_OUTCOME |
				  (uint32_t)values->types << TYPE_FLAGS,
			  .fd = (int32_t)values->second_name,
		  });
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

/* Release in all of these: pairs with opens.c, which reads `handle`, the fields and `handle`
 * again. */
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

void op_set_peer(struct self *self, uint64_t op, const void *address, size_t bytes)
{
	struct open_entry *entry = entry_find(self, op);

	if (entry)
		store_release(&entry->record.count, destinations_name(address, bytes));
}

void op_set_sender(struct self *self, uint64_t op, const void *address, size_t bytes)
{
	uint64_t at = (uint64_t)(uintptr_t)address;
	struct sockaddr_storage copy;

	if (bytes > sizeof(copy))
		return;
	/* Behind its room, up to the page's end, there is memory of the program's. */
	if (at % PAGE_BYTES + bytes <= PAGE_BYTES)
		op_set_peer(self, op, address, bytes);
	else if (task_read_memory((uint32_t)sys_getpid(), at, &copy, bytes) == bytes)
		op_set_peer(self, op, &copy, bytes);
}

void op_set_file_lock(struct self *self, uint64_t op, int fd, const char *what, uint64_t from,
		      uint64_t bytes)
{
	struct open_entry *entry = entry_find(self, op);

	if (entry)
		store_release(&entry->record.count, file_lock_name(fd, what, from, bytes));
}

uint64_t op_reserve(struct self *self)
{
	return self_next_id(self);
}
