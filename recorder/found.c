/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of calls that threads were inside of when recording began. See found.h.
 */
#include "found.h"

#include <errno.h>

#include "chunk.h"
#include "clock.h"
#include "descriptors.h"
#include "entries.h"
#include "op.h"
#include "opening.h"
#include "reaped.h"
#include "self.h"
#include "syscalls.h"
#include "watch.h"

#include "in_target.h"

/* The moment so much time before another one; not before the opening. */
static uint64_t earlier(uint64_t at_ticks, uint64_t by_ns, uint64_t least)
{
	uint64_t by =
		(uint64_t)(((unsigned __int128)by_ns << 32) / clock_own_rate(CLOCK_APART_LEAST_NS));

	return at_ticks > by && at_ticks - by > least ? at_ticks - by : least;
}

uint64_t found_end(const struct inside *inside, const struct slot *slot, uint64_t cpu_ns)
{
	uint64_t start = inside->record.start, at = clock_now_ticks();
	uint64_t cut = opening_cut(recorder_arena, inside->opening, start);

	if (cut != 0)
		at = cut;
	if (cut != 0 && slot) {
		bool is_marked = load_acquire(&slot->last_ticks) >= start;

		cpu_ns = is_marked ? load_relaxed(&slot->last_cpu_ns) : inside->cpu_ns;
	}
	return earlier(at, cpu_ns > inside->cpu_ns ? cpu_ns - inside->cpu_ns : 0, start);
}

void found_complete(struct inside *inside, const struct slot *slot)
{
	uint64_t handle = (uint64_t)load_relaxed(&slot->thread) << 32 | SELF_SEQUENCE_LAST |
			  (inside->opening & ~SELF_SEQUENCE_LAST);

	inside->handle = handle;
	inside->record.parent = load_relaxed(&slot->op);
	if (inside->record.type == RECORD_OP)
		inside->record.id = handle;
	else
		inside->record.count = load_relaxed(&slot->thread);
}

void found_show(struct inside *inside)
{
	if (!inside->slot)
		return;
	found_complete(inside, inside->slot);
	if (inside->record.type != RECORD_NONE)
		entry_write(&inside->slot->found, &inside->record, inside->handle, inside->opening);
}

void found_hide(const struct inside *inside)
{
	if (inside->slot)
		store_release(&inside->slot->found.handle, 0);
}

/* As chunk.h says of what is open. */
static void end(struct self *self, const struct inside *inside, const struct record *record)
{
	/* Pairs with opens.c: from here on its record is looked for. */
	if (inside->slot)
		(void)or_acq_rel(&inside->slot->found.handle, HANDLE_ENDING);
	(void)chunk_publish(self, record);
	found_hide(inside);
	chunk_settle(self);
}

void found_write_op(struct self *self, const struct inside *inside, uint64_t end_ticks,
		    enum outcome outcome)
{
	struct record op = inside->record;
	uint64_t ticks = end_ticks - op.start;

	if (op.fd >= 0)
		descriptors_describe(self, &op);
	/* The time that it asked for from then on; the kernel's share of it is not known. */
	if (op.what == KIND_SLEEP)
		op.value = (uint64_t)(((unsigned __int128)ticks *
				       clock_own_rate(CLOCK_APART_LEAST_NS)) >>
				      32);
	op.end = end_ticks;
	op.outcome = (uint8_t)outcome;
	end(self, inside, &op);
}

struct watch *found_watch(struct self *self, const struct inside *inside)
{
	struct watch *watch = NULL;

	if (inside->lock != WATCH_FREE)
		watch = watch_get(self, (const void *)(uintptr_t)inside->record.value,
				  (enum watch_type)inside->lock);
	if (watch && inside->is_shared)
		watch_share(watch);
	return watch;
}

void found_cut_wait(struct self *self, const struct inside *inside, uint64_t end_ticks)
{
	const struct watch *watch = found_watch(self, inside);
	struct record wait = inside->record;

	wait.end = end_ticks;
	wait.ident = watch ? load_relaxed(&watch->ident) : 0;
	end(self, inside, &wait);
}

/* Of a thread or a child that has ended, and of which nobody else tells by now: its op. */
static uint64_t op_of_life(struct self *self, const struct inside *inside, uint64_t end_ticks)
{
	if (inside->record.what == REASON_EXEC)
		return reaped_write(self, inside->life, end_ticks);
	return sys_tgkill(sys_getpid(), (int)inside->life, 0) == -ESRCH
		       ? watch_thread_op((const void *)(uintptr_t)inside->record.value)
		       : 0;
}

void found_write_life(struct self *self, const struct inside *inside, uint64_t end_ticks,
		      bool is_on)
{
	struct record wait = inside->record;

	wait.end = end_ticks;
	wait.id = is_on ? op_of_life(self, inside, end_ticks) : 0;
	wait.flags = wait.id ? 0 : RECORD_TIMED_OUT;
	end(self, inside, &wait);
}

/* A lock has let it in if it is the owner now; of those that do not say so it is not known. */
void found_write_wait(struct self *self, const struct inside *inside, uint64_t end_ticks,
		      struct watch *watch, bool has)
{
	struct record wait = inside->record;
	uint64_t last = load_relaxed(&watch->last_ticks);
	bool is_let = has && last >= wait.start;

	wait.end = is_let && last > end_ticks ? last : end_ticks;
	wait.id = is_let && !load_relaxed(&watch->sharing) ? load_relaxed(&watch->last_op) : 0;
	wait.ident = load_relaxed(&watch->ident);
	wait.flags = has ? 0 : RECORD_TIMED_OUT;
	end(self, inside, &wait);
	if (has && (wait.what == REASON_MUTEX || wait.what == REASON_RWLOCK_WRITE))
		hold_begin_since(self, watch, wait.stack, wait.end);
}

void found_stop_counting(const struct inside *inside)
{
	if (inside->is_counted)
		watch_wait_ends(watch_find((const void *)(uintptr_t)inside->record.value));
}
