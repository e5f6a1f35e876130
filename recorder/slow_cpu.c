/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that takes longer: CPU time of functions and of threads, by samples. See slow.h.
 *
 * A sample stands for the CPU time since the one before. Where it lies in a rule's code the thread
 * spins for (F-1) times that. It does so in the handler, before the sample is recorded: so the
 * recording has the extra time where it was spent. At most SPIN_NS_MAX are spun at a time, as all
 * signals are blocked; a signal of the program's ends it sooner. The rest is a debt, for the next
 * sample. That comes at once when the spinning has taken a period of the sampling timer.
 *
 * Runs on the program's threads, inside the recorder. Never here: a call that blocks.
 */
#include "slow.h"

#include <signal.h>

#include "clock.h"
#include "gate.h"
#include "op.h"
#include "syscalls.h"

#include "in_target.h"

/* More than the longest period: samples were off, and nobody knows where the thread was. */
#define SINCE_NS_MAX UINT64_C(1500000000)
#define SPIN_NS_MAX  INT64_C(10000000)
#define DEBT_NS_MAX  INT64_C(1000000000)

static bool is_in_ranges(uint64_t address)
{
	/* Pairs with slow_rules.c: so many are complete. One that changes just now may be taken for
	 * more code than it is, for one sample. */
	uint32_t count = load_acquire(&slow.range_count);
	const struct slow_range *ranges = load_acquire(&slow.ranges);

	for (uint32_t i = 0; ranges && i < count; i++)
		if (address - load_relaxed(&ranges[i].address) < load_relaxed(&ranges[i].bytes))
			return true;
	return false;
}

/* Outside of all recorded calls, and in a thread of a rule's. */
static bool is_own_code(const struct self *self, const struct slow_thread *thread)
{
	return load_relaxed(&thread->routine) == (self->thread | SLOW_ROUTINE_RULED) &&
	       op_current(self) == self->slot->op;
}

/* Of the signals that the thread lets through. */
static bool is_signal_pending(const ucontext_t *context)
{
	uint64_t pending = 0, blocked = context->uc_sigmask.__val[0];

	(void)SYS3(rt_sigpending, &pending, sizeof(pending), 0);
	return (pending & ~blocked & ~(UINT64_C(1) << (RECORDER_SIGNAL - 1))) != 0;
}

/* Open ops are not longer for it. */
static void move_beginnings(struct slow_thread *thread, uint64_t ticks, uint64_t cpu_ns)
{
	for (uint32_t i = 0; i < thread->count; i++) {
		thread->beginnings[i].start_ticks += ticks;
		thread->beginnings[i].cpu_ns += cpu_ns;
	}
}

static void spin(struct self *self, struct slow_thread *thread, const ucontext_t *context)
{
	int64_t wanted_ns = thread->cpu_debt_ns < SPIN_NS_MAX ? thread->cpu_debt_ns : SPIN_NS_MAX;
	uint64_t begun_ticks = clock_now_ticks();
	uint64_t begun_ns = clock_thread_cpu_ns(), spun_ns = 0;

	/* Pairs with slow_spins_of(): a mask that is read meanwhile is our own. */
	add_seq_cst(&thread->spins, 1);
	while ((int64_t)spun_ns < wanted_ns && slow_is_open(thread->window) &&
	       load_relaxed(&slow.window) == thread->window &&
	       load_relaxed(&recorder_gate.mode) == GATE_ON && !is_signal_pending(context))
		spun_ns = clock_thread_cpu_ns() - begun_ns;
	add_seq_cst(&thread->spins, 1);
	thread->cpu_debt_ns -= (int64_t)spun_ns;
	self_count_many(self, COUNTER_slowed_ns, spun_ns);
	move_beginnings(thread, clock_now_ticks() - begun_ticks, spun_ns);
}

void slow_sample(struct self *self, const ucontext_t *context)
{
	struct slow_thread *thread = slow_thread_of(self);
	uint64_t window = load_relaxed(&slow.window), since_ns;

	if (!thread)
		return;
	since_ns = clock_thread_cpu_ns() - thread->sampled_cpu_ns;
	slow_enter_window(thread, window);
	if (slow_is_open(window) && thread->sampled_cpu_ns != 0 && since_ns < SINCE_NS_MAX &&
	    (is_in_ranges((uint64_t)context->uc_mcontext.gregs[REG_RIP]) ||
	     is_own_code(self, thread))) {
		thread->cpu_debt_ns += (int64_t)(since_ns * (window & SLOW_FACTOR_MASK) / 1000);
		if (thread->cpu_debt_ns > DEBT_NS_MAX)
			thread->cpu_debt_ns = DEBT_NS_MAX;
		self_count(self, COUNTER_slowed);
	}
	if (thread->cpu_debt_ns > 0)
		spin(self, thread, context);
	/* Else another thread may be about to filter system calls. */
	thread->sampled_cpu_ns =
		load_relaxed(&recorder_gate.mode) == GATE_ON ? clock_thread_cpu_ns() : 0;
}

uint64_t slow_spins_of(uint32_t tid)
{
	const struct arena *arena = load_acquire(&recorder_arena);
	const struct slow_thread *threads = load_acquire(&slow.threads);
	const struct slot *slots = arena ? arena_at(arena, ARENA_ROSTER) : NULL;

	for (uint32_t i = 0; slots && threads && i < load_relaxed(&arena->slots.made); i++)
		if (load_relaxed(&slots[i].tid) == tid && load_acquire(&slots[i].thread) != 0)
			return slow_is_own(&threads[i]) ? load_seq_cst(&threads[i].spins) : 0;
	return 0;
}
