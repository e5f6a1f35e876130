/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links: what one thread does to others, each a record of a moment: spawn, unlock, signal, post.
 *
 * Runs on the program's threads. Nothing is open, so nothing can be abandoned.
 */
#include "record.h"

#include "clock.h"
#include "entries.h"

#include "in_target.h"

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

	entry_append(self, &record);
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

void post_record(struct self *self, uint64_t address, uint32_t ident, uint64_t ticks)
{
	struct record record = {
		.start = ticks,
		.end = ticks,
		.parent = op_current(self),
		.value = address,
		.name = self->thread,
		.ident = ident,
		.fd = -1,
		.type = RECORD_LINK,
		.what = LINK_POST,
	};

	entry_append(self, &record);
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
