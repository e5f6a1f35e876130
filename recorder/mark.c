/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks of CPU time. See mark.h.
 *
 * The thread's CPU clock is read by a system call. The user page of a task-clock perf event needs
 * none, but costs more than it saves. With such an event each switch to and from a thread takes 1.1
 * us longer. A round trip through two pipes on one processor takes 7.1 us instead of 4.8. That is
 * four times the cost of the clock, and for all switches, not only for those after which a mark is
 * due.
 */
#include "mark.h"

#include <assert.h>
#include <sched.h>

#include "chunk.h"
#include "delays.h"
#include "gate.h"
#include "roster.h"
#include "usage.h"

#include "in_target.h"

uint64_t mark_gap_ticks = MARK_GAP_TICKS;

void mark_sample(struct self *self, uint64_t now_ticks, uint32_t stack)
{
	int cpu = sched_getcpu();
	struct record record = {
		.start = now_ticks,
		.end = now_ticks,
		.id = load_relaxed(&self->slot->delay_ns),
		.parent = op_current(self),
		.name = self->thread,
		.value = clock_thread_cpu_ns(),
		.stack = stack,
		.count = cpu > 0 ? (uint32_t)cpu : 0,
		.fd = -1,
		.type = RECORD_SAMPLE,
	};

	assert(self->slot && self->thread != 0);
	self->marked_ticks = now_ticks;
	(void)chunk_append(self, &record);
}

void mark_of(struct self *self, uint64_t op, uint64_t delay_ns, uint64_t at_ticks, uint64_t cpu_ns)
{
	struct record record = {
		.start = at_ticks,
		.end = at_ticks,
		.id = delay_ns,
		.parent = op,
		.name = (uint32_t)(op >> 32),
		.value = cpu_ns,
		.fd = -1,
		.type = RECORD_SAMPLE,
	};

	if (mark_gap_ticks != MARK_NEVER)
		(void)chunk_append(self, &record);
}

/* A child of vfork() has its parent's memory, and a CPU clock of its own. */
static bool is_another_thread(void)
{
	return UNLIKELY(gate_is_in_vfork()) && recorder_in_vfork_child();
}

void mark_write(struct self *self, uint64_t now_ticks)
{
	if (mark_gap_ticks != MARK_NEVER && !is_another_thread())
		mark_sample(self, now_ticks, 0);
}

void mark_last(struct arena *arena)
{
	uint32_t slots = roster_made(arena);

	usage_save(arena);
	for (uint32_t i = 0; i < slots && mark_gap_ticks != MARK_NEVER; i++) {
		struct slot *slot = roster_slot(arena, i);
		uint64_t cpu_ns;

		if (load_acquire(&slot->thread) == 0 ||
		    !clock_cpu_ns_of(load_relaxed(&slot->tid), &cpu_ns))
			continue;
		store_relaxed(&slot->last_cpu_ns, cpu_ns);
		delays_update(slot);
		/* Pairs with the snapshot of a dead process: the time is that of these ticks. */
		store_release(&slot->last_ticks, clock_now_ticks());
	}
}
