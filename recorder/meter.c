/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter. See meter.h.
 */
#include "meter.h"

#include <errno.h>

#include "packed.h"

#include "in_target.h"

/* Of slow paths while there was no arena. */
static uint64_t early_ns;

/* The counter is read when all that comes before is done. */
static uint64_t exact_ticks(void)
{
	_mm_lfence();
	return clock_now_ticks();
}

static void add(uint64_t *at, uint64_t more)
{
	store_relaxed(at, load_relaxed(at) + more);
}

void meter_chunk_taken(struct self *self)
{
	store_relaxed(&self->slot->chunk_from, extent_records(self->position));
	self->meter_end = (uint16_t)(extent_records(self->position) + METER_EVENTS);
	/* The call that is under way is not in it. */
	self->meter_begun = 0;
	self->errno_at = NULL;
}

void meter_chunk_left(struct self *self)
{
	add(&self->slot->cost.events,
	    extent_records(self->position) - load_relaxed(&self->slot->chunk_from));
	/* Nothing of it is counted twice. */
	store_relaxed(&self->slot->chunk_from, extent_records(self->position));
}

int *meter_enter(struct self *self)
{
	if (self->meter_end == 0) {
		self->errno_at = &errno;
		return self->errno_at;
	}
	self->meter_position = (uint16_t)extent_records(self->position);
	self->meter_begun = exact_ticks();
	return &errno;
}

static void count_call(struct self *self, uint64_t begun)
{
	uint64_t ticks = exact_ticks() - begun;

	if (!self->slot || ticks > METER_TICKS_MOST)
		return;
	add(&self->slot->cost.metered_ticks, ticks);
	add(&self->slot->cost.metered_events,
	    extent_records(self->position) - self->meter_position);
}

int *meter_leave(struct self *self)
{
	if (self->meter_begun != 0)
		count_call(self, self->meter_begun);
	self->meter_begun = 0;
	if (extent_records(self->position) >= self->meter_end) {
		self->meter_end = 0;
		self->errno_at = &errno;
	}
	return &errno;
}

/* False for a path whose time is counted elsewhere. */
static bool leave_path(struct self *self, const struct slow_path *path)
{
	if (path->begun == 0)
		return false;
	self->is_slow = 0;
	/* The call that is under way is not metered. */
	self->meter_begun = 0;
	/* The control thread's CPU time is known, and has it. */
	return !self->retired;
}

void slow_path_end(struct self *self, const struct slow_path *path)
{
	struct arena *arena = load_acquire(&recorder_arena);

	if (!leave_path(self, path))
		return;
	uint64_t ns = clock_thread_cpu_ns() - path->begun;

	if (self->slot)
		add(&self->slot->cost.slow_ns, ns);
	else
		add_relaxed(arena ? &arena->cost.threads.slow_ns : &early_ns, ns);
}

void short_path_end(struct self *self, const struct slow_path *path)
{
	if (!leave_path(self, path) || !self->slot)
		return;
	uint64_t ticks = clock_now_ticks() - path->begun;

	add(&self->slot->cost.short_ticks, ticks < METER_TICKS_MOST ? ticks : METER_TICKS_MOST);
}

void meter_arena_made(struct arena *arena)
{
	add_relaxed(&arena->cost.threads.slow_ns, exchange_acq_rel(&early_ns, 0));
}

void meter_fork_child(void)
{
	store_relaxed(&early_ns, 0);
}
