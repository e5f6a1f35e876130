/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers the places from which this thread asks for the time; clockreads.h says what for.
 *
 * Runs on the program's threads, in each call. Asking for the time is no reason to give a thread a
 * slot. Of those calls that come before it has one, the last is remembered. For a program computes
 * the time until which threads go on before it starts them. Calls of a signal handler are left out
 * while its thread is inside the recorder.
 */
#include "clockreads.h"

#include "chunk.h"
#include "clock.h"
#include "record.h"
#include "self.h"
#include "stack.h"

#include "in_target.h"

/* Where it is remembered; else the place of the one that has not been seen for longest. */
static struct clock_place *place_of(struct clock_place *places, uint64_t pc)
{
	struct clock_place *oldest = places;

	for (struct clock_place *place = places; place < places + CLOCK_PLACES; place++) {
		if (place->pc == pc)
			return place;
		if (place->last_ticks < oldest->last_ticks)
			oldest = place;
	}
	*oldest = (struct clock_place){ .pc = pc };
	return oldest;
}

static void place_add(struct self *self, const void *pc, uint64_t ticks)
{
	struct clock_place *place = place_of(self->slot->clock_places, (uint64_t)(uintptr_t)pc);

	place->previous_ticks = place->last_ticks;
	place->last_ticks = ticks;
	if (place->count++ == 0)
		place->first_ticks = ticks;
}

/* Its last call before it had a slot. */
static void early_add(struct self *self)
{
	if (self->asked_ticks)
		place_add(self, self->asked_pc, self->asked_ticks);
	self->asked_ticks = 0;
}

void clock_read_note(const void *pc)
{
	struct self *self = &self_of_thread;

	if (!self->slot) {
		self->asked_pc = pc;
		self->asked_ticks = clock_now_ticks();
		return;
	}
	self = self_begin(__builtin_frame_address(0));
	if (!self)
		return;
	early_add(self);
	place_add(self, pc, clock_now_ticks());
	self_end(self);
}

static void write_call(struct self *self, uint64_t ticks, uint32_t stack, uint32_t number)
{
	struct record record = {
		.start = ticks,
		.end = ticks,
		.parent = op_current(self),
		.name = self->thread,
		.stack = stack,
		.count = number,
		.fd = -1,
		.type = RECORD_LINK,
		.what = LINK_CLOCK,
	};

	(void)chunk_append(self, &record);
}

void clock_reads_end(void)
{
	struct self *self = self_of_thread.slot ? self_enter() : NULL;

	if (!self)
		return;
	early_add(self);
	for (uint32_t i = 0; i < CLOCK_PLACES; i++) {
		const struct clock_place *place = &self->slot->clock_places[i];
		uint32_t count = (uint32_t)place->count;
		uint32_t stack = count ? stack_of((const void *)(uintptr_t)place->pc) : 0;

		if (!stack)
			continue;
		write_call(self, place->first_ticks, stack, 1);
		if (count > 2)
			write_call(self, place->previous_ticks, stack, count - 1);
		if (count > 1)
			write_call(self, place->last_ticks, stack, count);
	}
	self_leave(self);
}
