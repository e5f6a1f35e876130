/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op of each hit. See probe_hit.h.
 *
 * The way of nearly all hits is here and in PROBED objects (Makefile). All else may use vector
 * registers, and is done aside, on a stack of ours, with the registers kept. That is a thread's
 * first event, and the name of a probe in a new arena.
 */
#include "probe_hit.h"

#include <unwind.h>

#include "chunk.h"
#include "clock.h"
#include "entries.h"
#include "fields.h"
#include "gate.h"
#include "op.h"
#include "own_stack.h"
#include "roster.h"
#include "spare.h"
#include "stack.h"
#include "stack_walk.h"
#include "tasks.h"
#include "vectors.h"

#include "in_target.h"

/* Room is left for what the function calls: a recursive one would take all of a thread's entries.
 */
enum { PROBE_DEPTH_MAX = SLOT_ENTRIES - 8 };

struct probe *probe_table;
struct probe_counters *probe_counters;
struct probe_values *probe_values;

struct aside {
	struct probe *probe;
	const void *frame;
};

static size_t length_of(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return length;
}

static void name_probe(struct probe *probe)
{
	const char *name = probe->order.name;
	store_relaxed(&probe->name, string_intern(name, length_of(name)));
	for (uint32_t i = 0; i < probe->order.code.fetch_count; i++)
		store_relaxed(&probe->names[i],
			      string_intern(probe->order.code.fetches[i].name,
					    length_of(probe->order.code.fetches[i].name)));
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

static void count(const struct self *self, const struct probe_stack *stack, enum probe_count which)
{
	struct probe_counts *stripes = probe_counters->counts[stack->index];
	uint64_t slot = roster_index_of(recorder_arena, self->slot);
	uint32_t shared = PROBE_STRIPES - PROBE_OWN_STRIPES;

	if (LIKELY(slot < PROBE_OWN_STRIPES))
		add_own(&stripes[slot].of[which], 1);
	else
		add_relaxed(&stripes[PROBE_OWN_STRIPES + slot % shared].of[which], 1);
}

uint64_t probe_hits(uint32_t index, enum probe_count which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PROBE_STRIPES; i++)
		sum += load_relaxed(&probe_counters->counts[index][i].of[which]);
	return sum;
}

/* --- Values ----------------------------------------------------------------------------------- */

/* The thread's own stack is there; all else only the kernel knows. */
READS_STACKS static bool read_memory(void *context, uint64_t address, void *to, size_t bytes)
{
	const uint8_t *from = (const uint8_t *)(uintptr_t)address;

	(void)context;
	if (address >= own_stack.low && address < own_stack.top &&
	    bytes <= own_stack.top - address) {
		for (size_t i = 0; i < bytes; i++)
			((uint8_t *)to)[i] = from[i];
		return true;
	}
	return task_read_memory(gate_pid(), address, to, bytes) == bytes;
}

/* Room for the next op of the thread, before it is begun; NULL: there is none. */
static struct probe_values *values_of(const struct self *self, uint32_t depth)
{
	uint64_t slot = roster_index_of(recorder_arena, self->slot);

	if (!load_acquire(&probe_values) || slot >= PROBE_VALUES_SLOTS)
		return NULL;
	return &probe_values[slot * SLOT_ENTRIES + depth];
}

static void fetch(const struct probe *probe, struct probe_stack *stack, bool is_at_return,
		  struct probe_values *values)
{
	const uint64_t thread = (uint64_t)(uintptr_t)__builtin_thread_pointer();
	uint64_t lower[PROBE_VECTORS];
	const struct probe_context context = { stack->registers, probe->order.bias,
					       read_memory,      NULL,
					       thread,           lower };
	uint64_t start = stack->registers[PROBE_RIP];

	/* They are still as the program has them: nothing on the way here touches them. */
	if (UNLIKELY(probe->reads_vectors))
		vectors_read_lower(lower);
	stack->registers[PROBE_RIP] = stack->caller;
	probe_fetch_all(&probe->order.code, &context, is_at_return, values->values);
	stack->registers[PROBE_RIP] = start;
}

struct text_to_intern {
	const struct probe_value *value;
	uint32_t id;
};

static void intern_text(void *argument)
{
	struct text_to_intern *text = argument;
	struct vectors vectors;

	vectors_save(&vectors);
	text->id = string_intern(text->value->text, text->value->length);
	vectors_restore(&vectors);
}

static bool fits_second(const struct probe_fetch *fetch, uint64_t bits)
{
	if (fetch->type == PROBE_REAL)
		return false;
	if (fetch->type == PROBE_SIGNED)
		return (uint64_t)(int64_t)(int32_t)(uint32_t)bits == bits;
	return bits >> 32 == 0;
}

/* Those that are recorded; the texts among them have their strings' ids for values now. */
static uint32_t find_recorded(const struct probe *probe, struct probe_values *values)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < probe->order.code.fetch_count; i++) {
		const struct probe_fetch *fetch = &probe->order.code.fetches[i];
		struct text_to_intern text = { &values->values[i], 0 };

		if (fetch->is_hidden || !values->values[i].is_known)
			continue;
		if (UNLIKELY(fetch->type == PROBE_STRING)) {
			if (!spare_call(intern_text, &text))
				continue;
			values->values[i].bits = text.id;
		}
		found |= UINT32_C(1) << i;
	}
	return found;
}

/* Takes those that the op's own record has room for out of `found`. They are written where they are
 * read: a struct that is returned would be copied, in other parts than those that were written. */
static void take_own(const struct probe *probe, const struct probe_values *values, uint32_t *found,
		     struct op_values *own)
{
	uint32_t index;

	*own = (struct op_values){ .types = probe->flags };
	if (*found == 0)
		return;
	index = (uint32_t)__builtin_ctz(*found);
	own->first = values->values[index].bits;
	own->first_name = load_relaxed(&probe->names[index]);
	own->types |= probe->order.code.fetches[index].type;
	*found &= *found - 1;
	if (*found == 0)
		return;
	index = (uint32_t)__builtin_ctz(*found);
	if (!fits_second(&probe->order.code.fetches[index], values->values[index].bits))
		return;
	own->second = (uint32_t)values->values[index].bits;
	own->second_name = load_relaxed(&probe->names[index]);
	own->types |= (uint8_t)(probe->order.code.fetches[index].type << FIELD_SECOND);
	*found &= *found - 1;
}

/* Those that have records of their own. */
static void write_values(struct self *self, const struct probe *probe, uint64_t op,
			 const struct probe_values *values, uint32_t found, uint64_t now)
{
	for (; found; found &= found - 1) {
		uint32_t index = (uint32_t)__builtin_ctz(found);
		struct record record = {
			.start = now,
			.end = now,
			.parent = op,
			.value = values->values[index].bits,
			.name = self->thread,
			.ident = load_relaxed(&probe->names[index]),
			.count = probe->order.code.fetches[index].type,
			.fd = -1,
			.type = RECORD_LINK,
			.what = LINK_VALUE,
		};

		entry_append(self, &record);
	}
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Whether the op is to be recorded, as far as is known at the entry. */
static bool is_wanted(struct self *self, const struct probe *probe, struct probe_stack *stack,
		      struct probe_values *values)
{
	const struct probe_code *code = &probe->order.code;

	if (code->fetch_count == 0)
		return true;
	if (values) {
		values->op = 0;
		fetch(probe, stack, false, values);
	}
	if (code->op_count == 0 || (values && code->needs_return) ||
	    (values && probe_judge(code, values->values) == PROBE_YES))
		return true;
	count(self, stack, PROBE_UNMET);
	return false;
}

#define REQUEST_KIND_BIT UINT64_C(1) /* of its begin, in place of the last digit */

/* Whether the thread is in what the probe asks for. A call may be so when it ends. At a place it
 * is now or never: the word for requests is the way back there (probe_through.S). */
static bool is_in_place(struct self *self, struct probe *probe, struct probe_stack *stack,
			bool may_wait)
{
	struct request_now request;
	enum condition_verdict verdict;

	if (probe->when.count == 0)
		return true;
	verdict = condition_judge(&probe->when, self, 0, &request);
	if (verdict == CONDITION_LATER && may_wait)
		stack->request = (request.begun_ticks & ~REQUEST_KIND_BIT) |
				 (request.kind == REQUESTS_MARKED);
	if (verdict == CONDITION_YES || (verdict == CONDITION_LATER && may_wait))
		return true;
	count(self, stack, PROBE_UNMET);
	return false;
}

static bool is_late_enough(struct probe *probe, const struct probe_stack *stack, uint64_t now)
{
	struct request_now request = { stack->request & ~REQUEST_KIND_BIT,
				       stack->request & REQUEST_KIND_BIT ? REQUESTS_MARKED
									 : REQUESTS_SERVED };

	return !stack->request || condition_is_reached(&probe->when, request, now);
}

static void open_op(struct self *self, struct probe *probe, struct probe_stack *stack)
{
	const void *frame = &stack->rbp;
	struct probe_values *values = NULL;
	uint32_t calls;

	count(self, stack, PROBE_CALLS);
	if (self->depth >= PROBE_DEPTH_MAX) {
		self_count(self, COUNTER_dropped_depth);
		return;
	}
	if (!is_in_place(self, probe, stack, true))
		return;
	if (probe->order.code.fetch_count)
		values = values_of(self, self->depth);
	if (!is_wanted(self, probe, stack, values))
		return;
	calls = stack_capture(self, (const void *)(uintptr_t)stack->caller, frame);
	stack->op = op_begin(self, KIND_OP_USER, load_relaxed(&probe->name), 0, -1, calls, frame);
	if (!stack->op)
		return;
	if (probe->flags)
		op_set_flags(self, stack->op, probe->flags);
	stack->registers[PROBE_RIP] = self->slot->entries[self->depth - 1].record.start;
	if (values) {
		values->op = stack->op;
		stack->values = (uint64_t)(uintptr_t)values;
	}
}

void probe_enter(struct probe_stack *stack)
{
	struct probe *probe = &probe_table[stack->index];
	struct self *self;

	stack->moved = probe->moved;
	stack->op = 0;
	stack->values = 0;
	stack->request = 0;
	self = begin(probe, &stack->rbp);
	if (!self)
		return;
	open_op(self, probe, stack);
	self_end(self);
}

/* Its values, with those of its return. NULL: there are none, or a later op has overwritten
 * them. */
static struct probe_values *values_at_end(const struct probe *probe, struct probe_stack *stack,
					  enum outcome outcome)
{
	struct probe_values *values = (struct probe_values *)(uintptr_t)stack->values;

	if (!values || values->op != stack->op)
		return NULL;
	values->op = 0;
	if (outcome == OUTCOME_OK && probe->reads_return)
		fetch(probe, stack, true, values);
	return values;
}

static bool is_long(struct probe *probe, uint64_t ticks)
{
	struct probe_lengths *lengths = load_relaxed(&probe->lengths);
	bool is = ticks >= load_relaxed(&probe->min_ticks);

	if (UNLIKELY(lengths) && probe_lengths_add(lengths, ticks))
		store_relaxed(&probe->min_ticks,
			      probe_lengths_at(lengths, probe->order.min_permille));
	return is;
}

/* Whether the call counts, now that it has ended; if not, why is counted. */
static bool has_counted(struct self *self, struct probe *probe, const struct probe_stack *stack,
			const struct probe_values *values, uint64_t now)
{
	const struct probe_code *code = &probe->order.code;

	if (!is_long(probe, now - stack->registers[PROBE_RIP])) {
		count(self, stack, PROBE_BRIEF);
		return false;
	}
	if (is_late_enough(probe, stack, now) &&
	    (!code->needs_return || (values && probe_judge(code, values->values) == PROBE_YES)))
		return true;
	count(self, stack, PROBE_UNMET);
	return false;
}

static void close_op(struct probe_stack *stack, enum outcome outcome)
{
	struct probe *probe = &probe_table[stack->index];
	uint64_t now = clock_now_ticks(); /* the rest is not the program's time */
	struct self *self = begin(probe, &stack->rbp);
	struct probe_values *values;
	struct op_values own;
	uint32_t found;

	if (!self)
		return;
	values = values_at_end(probe, stack, outcome);
	if (has_counted(self, probe, stack, values, now)) {
		found = values ? find_recorded(probe, values) : 0;
		take_own(probe, values, &found, &own);
		op_end_probed(self, stack->op, outcome, &own, now);
		write_values(self, probe, stack->op, values, found, now);
	} else {
		(void)op_drop(self, stack->op);
	}
	self_end(self);
}

void probe_leave(struct probe_stack *stack)
{
	if (stack->op)
		close_op(stack, OUTCOME_OK);
}

/* --- Places within functions ------------------------------------------------------------------ */

static void write_moment(struct self *self, struct probe *probe, struct probe_stack *stack)
{
	const void *frame = &stack->rbp;
	const void *behind = (const void *)(uintptr_t)(stack->caller + 1);
	struct probe_values *values = NULL;
	struct op_values own;
	uint32_t calls, found;
	uint64_t op, now = clock_now_ticks();

	count(self, stack, PROBE_CALLS);
	if (!is_in_place(self, probe, stack, false))
		return;
	if (probe->order.code.fetch_count && self->depth < SLOT_ENTRIES)
		values = values_of(self, self->depth);
	if (!is_wanted(self, probe, stack, values))
		return;
	calls = stack_capture_within(self, behind, frame, stack->registers[PROBE_RSP]);
	found = values ? find_recorded(probe, values) : 0;
	take_own(probe, values, &found, &own);
	op = op_moment(self, load_relaxed(&probe->name), calls, frame, &own, now);
	write_values(self, probe, op, values, found, now);
}

void probe_come_by(struct probe_stack *stack)
{
	struct probe *probe = &probe_table[stack->index];
	struct self *self = begin(probe, &stack->rbp);

	if (!self)
		return;
	write_moment(self, probe, stack);
	self_end(self);
}

/* --- Exceptions ------------------------------------------------------------------------------- */

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
		uintptr_t at = _Unwind_GetCFA(context) -
			       offsetof(struct probe_stack, registers[PROBE_RIP]);
		struct probe_stack *stack = (struct probe_stack *)at;

		if (stack->op)
			close_op(stack,
				 actions & _UA_FORCE_UNWIND ? OUTCOME_CANCELED : OUTCOME_ERROR);
	}
	return _URC_CONTINUE_UNWIND;
}
