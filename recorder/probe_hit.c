/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op of each call of a probed function. See probe_hit.h.
 *
 * The way of nearly all hits is here and in PROBED objects (Makefile). All else may use vector
 * registers, and is done aside, on a stack of ours, with the registers kept. That is a thread's
 * first event, and the name of a probe in a new arena.
 */
#include "probe_hit.h"

#include <unwind.h>

#include "clock.h"
#include "op.h"
#include "spare.h"
#include "vectors.h"

#include "in_target.h"

/* Room is left for what the function calls: a recursive one would take all of a thread's entries.
 */
enum { PROBE_DEPTH_MAX = SLOT_ENTRIES - 8 };

struct probe *probe_table;
struct probe_counters *probe_counters;
uint8_t vectors_matter;

struct aside {
	struct probe *probe;
	const void *frame;
};

static void name_probe(struct probe *probe)
{
	const char *name = probe->order.name;
	size_t bytes = 0;

	while (name[bytes])
		bytes++;
	store_relaxed(&probe->name, string_intern(name, bytes));
	/* Pairs with has_name(). */
	store_release(&probe->arena, recorder_arena);
}

static void settle(void *argument)
{
	const struct aside *aside = argument;
	struct vectors vectors;
	struct self *self;

	vectors_save(&vectors);
	self = self_begin(aside->frame);
	if (self) {
		name_probe(aside->probe);
		self_end(self);
	}
	vectors_restore(&vectors);
}

static bool is_settled(const struct self *self, const struct probe *probe)
{
	return self->period == load_relaxed(&self_period) &&
	       load_acquire(&probe->arena) == load_relaxed(&recorder_arena);
}

/* Guarded like a hook; NULL: nothing is recorded now. */
static struct self *begin(struct probe *probe, const void *frame)
{
	struct self *self = &self_of_thread;

	if (load_acquire(&recorder_gate.mode) != GATE_ON)
		return NULL;
	if (UNLIKELY(self->busy | self->retired | self->muted) && !self_heals(self, frame))
		return NULL;
	if (UNLIKELY(!is_settled(self, probe))) {
		struct aside aside = { probe, frame };

		self->busy = 0;
		if (!spare_call(settle, &aside) || !is_settled(self, probe))
			return NULL;
	}
	self->busy_frame = frame;
	self->busy = SELF_INSIDE;
	order_for_handlers();
	self->saved_errno = *self_errno(self, meter_enter);
	return self;
}

static struct probe_counts *counts_of(const struct self *self, uint64_t index)
{
	return &probe_counters->counts[index][self->thread % PROBE_STRIPES];
}

static void open_op(struct self *self, const struct probe *probe, struct probe_stack *stack)
{
	const void *frame = &stack->rbp;
	uint32_t calls;

	add_relaxed(&counts_of(self, stack->index)->calls, 1);
	if (self->depth >= PROBE_DEPTH_MAX) {
		self_count(self, COUNTER_dropped_depth);
		return;
	}
	calls = stack_capture(self, (const void *)(uintptr_t)stack->caller, frame);
	if (probe->min_ticks)
		stack->start = clock_now_ticks();
	stack->op = op_begin(self, KIND_OP_USER, load_relaxed(&probe->name), 0, -1, calls, frame);
}

void probe_enter(struct probe_stack *stack)
{
	struct probe *probe = &probe_table[stack->index];
	struct self *self;

	stack->moved = probe->moved;
	stack->op = 0;
	self = begin(probe, &stack->rbp);
	if (!self)
		return;
	open_op(self, probe, stack);
	self_end(self);
}

static void close_op(struct probe_stack *stack, enum outcome outcome)
{
	struct probe *probe = &probe_table[stack->index];
	struct self *self = begin(probe, &stack->rbp);

	if (!self)
		return;
	if (probe->min_ticks && clock_now_ticks() - stack->start < probe->min_ticks) {
		add_relaxed(&counts_of(self, stack->index)->brief, 1);
		(void)op_drop(self, stack->op);
	} else {
		op_end(self, stack->op, outcome, 0);
	}
	self_end(self);
}

void probe_leave(struct probe_stack *stack)
{
	if (stack->op)
		close_op(stack, OUTCOME_OK);
}

/* Named by the tables of probe_through.S: an exception or a forced unwinding passes. */
_Unwind_Reason_Code probe_personality(int version, _Unwind_Action actions,
				      _Unwind_Exception_Class class,
				      struct _Unwind_Exception *exception,
				      struct _Unwind_Context *context) HIDDEN;
_Unwind_Reason_Code probe_personality(int version, _Unwind_Action actions,
				      _Unwind_Exception_Class class,
				      struct _Unwind_Exception *exception,
				      struct _Unwind_Context *context)
{
	(void)version;
	(void)class;
	(void)exception;
	if (actions & _UA_CLEANUP_PHASE &&
	    _Unwind_GetIP(context) == (uintptr_t)probe_through_returns) {
		uintptr_t at = _Unwind_GetCFA(context) - offsetof(struct probe_stack, start);
		struct probe_stack *stack = (struct probe_stack *)at;

		if (stack->op)
			close_op(stack,
				 actions & _UA_FORCE_UNWIND ? OUTCOME_CANCELED : OUTCOME_ERROR);
	}
	return _URC_CONTINUE_UNWIND;
}
