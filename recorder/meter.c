/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter. See meter.h.
 */
#include "meter.h"

#include <errno.h>

#include "in_target.h"

/* Of slow paths while there was no arena. */
static uint64_t early_ticks;

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
	store_relaxed(&self->slot->chunk_from, self->position);
	self->meter_end = self->position + METER_EVENTS;
	/* The call that is under way is not in it. */
	self->meter_begun = 0;
	self->errno_at = NULL;
}

void meter_chunk_left(struct self *self)
{
	add(&self->slot->cost.events, self->position - load_relaxed(&self->slot->chunk_from));
	/* Nothing of it is counted twice. */
	store_relaxed(&self->slot->chunk_from, self->position);
}

int *meter_enter(struct self *self)
{
	if (self->meter_end == 0) {
		self->errno_at = &errno;
		return self->errno_at;
	}
	self->meter_position = self->position;
	self->meter_slow_ticks = self->slow_ticks;
	self->meter_begun = exact_ticks();
	return &errno;
}

static void count_call(struct self *self, uint64_t begun)
{
	uint64_t ticks = exact_ticks() - begun;

	if (!self->slot || ticks > METER_TICKS_MOST || self->meter_slow_ticks != self->slow_ticks)
		return;
	add(&self->slot->cost.metered_ticks, ticks);
	add(&self->slot->cost.metered_events, self->position - self->meter_position);
}

int *meter_leave(struct self *self)
{
	if (self->meter_begun != 0)
		count_call(self, self->meter_begun);
	self->meter_begun = 0;
	if (self->position >= self->meter_end) {
		self->meter_end = 0;
		self->errno_at = &errno;
	}
	return &errno;
}

/* The control thread's CPU time is known, and has it. */
void slow_path_end(struct self *self, const struct slow_path *path)
{
	uint64_t ticks = clock_now_ticks() - path->begun_ticks;
	uint64_t more = ticks - (self->slow_ticks - path->before_ticks);
	struct arena *arena = load_acquire(&recorder_arena);

	if (self->retired)
		return;
	self->slow_ticks = path->before_ticks + ticks;
	if (self->slot)
		add(&self->slot->cost.slow_ticks, more);
	else
		add_relaxed(arena ? &arena->cost.threads.slow_ticks : &early_ticks, more);
}

void meter_arena_made(struct arena *arena)
{
	add_relaxed(&arena->cost.threads.slow_ticks, exchange_acq_rel(&early_ticks, 0));
}

void meter_fork_child(void)
{
	store_relaxed(&early_ticks, 0);
}
