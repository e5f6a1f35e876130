/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of wcprof.h: ops, waits and links that the program itself declares.
 *
 * Such an op is among the handles (handles.h), not in a thread's slot, because any thread may end
 * it. Each thread that works for it has an attachment in its slot, which makes it the current op
 * there. A handle is the id of the op and, above it, the generation of the process. So the handles
 * that a forked child has inherited are another generation's, and null handles there.
 *
 * Ends are heard even when recording is off by then, so that nothing stays open for ever. They are
 * dated to the moment when it was turned off.
 *
 * Threads: any, also in signal handlers; `busy` keeps a handler out that interrupted one of these.
 * Never here: a wait, but for switch_flow_begins() and _ends(), which are called busy.
 */
#define WCPROF_IS_LIBRARY
#include "wcprof.h"

#include <assert.h>
#include <string.h>

#include "chunk.h"
#include "clock.h"
#include "context.h"
#include "gate.h"
#include "handles.h"
#include "op.h"
#include "opening.h"
#include "requests.h"
#include "slow.h"
#include "switch.h"

#include "in_target.h"

/* Ids are below 2^53, so that JSON has them exactly. */
enum { ID_BITS = 53, GENERATIONS = 1 << 11 };

_Static_assert((int)WCPROF_KIND_USER == (int)KIND_OP_USER, "kinds are those of events.def");
_Static_assert((int)WCPROF_KIND_CALL == (int)KIND_CALL, "the same");
_Static_assert((int)WCPROF_KIND_CALL_EXEC == (int)KIND_CALL_EXEC, "the same");
_Static_assert((int)WCPROF_KIND_LAZY == (int)KIND_LAZY, "the same");
_Static_assert((int)WCPROF_KIND_EXEC_PHASE == (int)KIND_EXEC_PHASE, "the same");
_Static_assert((int)WCPROF_KIND_EXEC == (int)KIND_EXEC, "the same");
_Static_assert((int)WCPROF_KIND_SERVICE_START == (int)KIND_SERVICE_START, "the same");
_Static_assert((int)WCPROF_KIND_SESSION_PHASE == (int)KIND_SESSION_PHASE, "the same");
_Static_assert((int)WCPROF_KIND_IO == (int)KIND_IO, "the same");
_Static_assert((int)WCPROF_KIND_INTERNAL == (int)KIND_INTERNAL, "the same");
_Static_assert((int)WCPROF_HIT == (int)OUTCOME_HIT, "outcomes are those of events.def");
_Static_assert((int)WCPROF_EXECUTED == (int)OUTCOME_EXECUTED, "the same");
_Static_assert((int)WCPROF_JOINED == (int)OUTCOME_JOINED, "the same");
_Static_assert((int)WCPROF_DO_NOT_CACHE == (int)OUTCOME_DO_NOT_CACHE, "the same");
_Static_assert((int)WCPROF_OK == (int)OUTCOME_OK, "the same");
_Static_assert((int)WCPROF_ERROR == (int)OUTCOME_ERROR, "the same");
_Static_assert((int)WCPROF_CANCELED == (int)OUTCOME_CANCELED, "the same");
_Static_assert((int)WCPROF_FOR_CALL_EXEC == (int)REASON_CALL_EXEC, "reasons, too");
_Static_assert((int)WCPROF_FOR_SINGLEFLIGHT == (int)REASON_SINGLEFLIGHT, "the same");
_Static_assert((int)WCPROF_FOR_LAZY == (int)REASON_LAZY, "the same");
_Static_assert((int)WCPROF_FOR_SERVICE == (int)REASON_SERVICE, "the same");
_Static_assert((int)WCPROF_FOR_LOCK == (int)REASON_LOCK, "the same");
_Static_assert((int)WCPROF_FOR_EXEC == (int)REASON_EXEC, "the same");
_Static_assert((int)WCPROF_FOR_IO == (int)REASON_IO, "the same");
_Static_assert((int)WCPROF_LINK_NESTED_CLIENT == (int)LINK_NESTED_CLIENT, "and links");
_Static_assert((int)WCPROF_LINK_RESULT == (int)LINK_RESULT, "the same");
_Static_assert((int)WCPROF_LINK_REUSED_RESULT == (int)LINK_REUSED_RESULT, "the same");

/* --- What the program gives --- */

static uint64_t generation(void)
{
	return gate_generation() % GENERATIONS;
}

static uint64_t to_handle(uint64_t id)
{
	assert(id >> ID_BITS == 0);
	return id ? id | generation() << ID_BITS : 0;
}

/* 0 for the null handle and for those of another process. */
static uint64_t to_id(uint64_t handle)
{
	return handle >> ID_BITS == generation() ? handle & ((UINT64_C(1) << ID_BITS) - 1) : 0;
}

static uint8_t to_kind(enum wcprof_kind kind)
{
	return kind >= WCPROF_KIND_CALL && kind <= WCPROF_KIND_INTERNAL ? (uint8_t)kind
									: KIND_OP_USER;
}

static uint8_t to_outcome(enum wcprof_outcome outcome)
{
	return (unsigned int)outcome <= WCPROF_CANCELED ? (uint8_t)outcome : OUTCOME_NONE;
}

static uint32_t to_string(const char *string)
{
	return string ? string_intern(string, strnlen(string, STRING_BYTES_MAX)) : 0;
}

/* --- Going in --- */

static struct self *enter(void)
{
	if (recorder_is_off())
		return NULL;
	if (load_relaxed(&recorder_gate.mode) == GATE_UNSET)
		recorder_wake_up(false);
	return self_enter();
}

/* For what changes or ends something: NULL when the handle is nobody's, or in the recorder. */
static struct self *enter_late(struct arena **arena, uint64_t id)
{
	struct self *self;

	*arena = load_acquire(&recorder_arena);
	if (!*arena || id == 0)
		return NULL;
	self = self_enter_late();
	if (!self)
		arena_count(*arena, COUNTER_dropped_nested);
	return self;
}

/* The same for an op or a wait that goes on: its entry, NULL if there is none. */
static struct open_entry *enter_entry(uint64_t handle, struct self **self)
{
	uint64_t id = to_id(handle);
	struct arena *arena;
	uint32_t index;

	*self = enter_late(&arena, id);
	index = *self ? handles_find(arena, id) : HANDLE_NONE;
	return index != HANDLE_NONE ? handles_at(arena, index) : NULL;
}

int wcprof_v1_enabled(void)
{
	struct self *self = enter();

	self_leave(self);
	return self != NULL;
}

uint64_t wcprof_v1_now(void)
{
	return clock_mono_ns();
}

/* --- Ops --- */

static bool is_in_flow(const struct self *self)
{
	return self->flows > 0 || op_is_in_flow(self);
}

/* Opens it and attaches it to this thread: its id, 0 if there is no place. */
static uint64_t open_op(struct self *self, const struct record *record)
{
	uint32_t index = handles_add(recorder_arena, record->id, record);

	if (index == HANDLE_NONE) {
		self_count(self, COUNTER_dropped_handles);
		return 0;
	}
	op_attach(self, record->id, index, record->flags);
	if (record->flags & RECORD_FLOW)
		(void)switch_flow_begins();
	if (ops_may_take_longer())
		slow_begin_declared(self, record->id, record->name);
	return record->id;
}

/* Gives an op its id and names, and a parent if the program named none. */
static void identify(struct self *self, struct record *record, const char *class_name,
		     const char *ident)
{
	record->id = self_next_id(self);
	if (record->parent == 0)
		record->parent = op_current(self);
	record->name = to_string(class_name);
	record->ident = to_string(ident);
}

wcprof_op wcprof_v1_begin(wcprof_op parent, enum wcprof_kind kind, const char *class_name,
			  const char *ident)
{
	struct self *self = enter();
	struct record record = {
		.parent = to_id(parent),
		.fd = -1,
		.type = RECORD_OP,
		.what = to_kind(kind),
		.flags = RECORD_ANNOTATED,
	};
	uint64_t id;

	if (!self)
		return 0;
	identify(self, &record, class_name, ident);
	if (is_in_flow(self))
		record.flags |= RECORD_FLOW;
	record.start = clock_now_ticks();
	id = open_op(self, &record);
	self_leave(self);
	return to_handle(id);
}

/* When something ends now: not after recording was turned off. */
static uint64_t end_ticks(const struct arena *arena, uint64_t start_ticks)
{
	uint64_t cut = opening_cut(arena, opening_now(arena), start_ticks);
	uint64_t now = clock_now_ticks();

	if (cut != 0)
		return cut;
	return now > start_ticks ? now : start_ticks;
}

/* Writes what was taken from the handles. A thread that has ended has nowhere to write. */
static void close_record(struct self *self, struct arena *arena, uint32_t index,
			 struct record *record)
{
	record->end = end_ticks(arena, record->start);
	if (requests_are_followed())
		requests_note_declared(record);
	if (self_has_place(self))
		(void)chunk_publish(self, record);
	else
		arena_count(arena, COUNTER_lost_ends);
	handles_drop(arena, index);
	if (self->slot)
		chunk_settle(self);
	if (record->type == RECORD_OP && record->flags & RECORD_FLOW) {
		switch_flow_ends();
		/* Threads that worked for it are to see that they do not any more. */
		self_begin_period();
	}
}

static void end(uint64_t id, enum wcprof_outcome outcome, uint64_t result)
{
	struct arena *arena;
	struct self *self = enter_late(&arena, id);
	struct record record;
	uint32_t index = self ? handles_take(arena, id, &record) : HANDLE_NONE;

	if (index != HANDLE_NONE) {
		if (outcome != WCPROF_UNSAID)
			record.outcome = to_outcome(outcome);
		if (record.type == RECORD_OP)
			record.value = result;
		if (self->slot)
			(void)op_detach(self, id);
		close_record(self, arena, index, &record);
	}
	self_leave(self);
}

void wcprof_v1_end(wcprof_op op, enum wcprof_outcome outcome, uint64_t result)
{
	uint64_t id = to_id(op);

	if (ops_may_take_longer())
		slow_end_declared(id);
	end(id, outcome, result);
}

void wcprof_v1_set_ident(wcprof_op op, const char *ident)
{
	struct self *self;
	struct open_entry *entry = enter_entry(op, &self);

	if (entry)
		store_release(&entry->record.ident, to_string(ident));
	self_leave(self);
}

void wcprof_v1_hint_outcome(wcprof_op op, enum wcprof_outcome outcome)
{
	struct self *self;
	struct open_entry *entry = enter_entry(op, &self);

	if (entry)
		store_release(&entry->record.outcome, to_outcome(outcome));
	self_leave(self);
}

wcprof_op wcprof_v1_record(wcprof_op parent, enum wcprof_kind kind, const char *class_name,
			   const char *ident, uint64_t start_ns, uint64_t end_ns,
			   enum wcprof_outcome outcome, uint64_t result)
{
	struct self *self = enter();
	struct record record = {
		.parent = to_id(parent),
		.value = result,
		.fd = -1,
		.type = RECORD_OP,
		.what = to_kind(kind),
		.outcome = to_outcome(outcome),
		.flags = RECORD_ANNOTATED,
	};

	if (!self)
		return 0;
	identify(self, &record, class_name, ident);
	record.end = clock_ticks_at(end_ns);
	record.start = clock_ticks_at(start_ns < end_ns ? start_ns : end_ns);
	if (record.start > record.end)
		record.start = record.end;
	(void)chunk_append(self, &record);
	self_leave(self);
	return to_handle(record.id);
}

/* --- Handing over --- */

wcprof_op wcprof_v1_current(void)
{
	struct self *self = enter();
	uint64_t id = self ? op_current(self) : 0;

	self_leave(self);
	return to_handle(id);
}

/* The flags of an op among the handles; false when it has ended. */
static bool look_up(const struct arena *arena, uint64_t id, uint32_t *index, uint8_t *flags)
{
	const struct open_entry *entry;

	*index = handles_find(arena, id);
	entry = *index != HANDLE_NONE ? handles_at(arena, *index) : NULL;
	if (!entry || load_relaxed(&entry->record.type) != RECORD_OP)
		return false;
	*flags = load_relaxed(&entry->record.flags);
	return true;
}

void wcprof_v1_adopt(wcprof_op op)
{
	struct arena *arena = load_acquire(&recorder_arena);
	uint64_t id = to_id(op);
	bool is_flow;
	struct self *self;
	uint32_t index;
	uint8_t flags;

	if (!arena || id == 0 || !look_up(arena, id, &index, &flags))
		return;
	/* Out of scope until now; then in it for what it is attached to. */
	is_flow = flags & RECORD_FLOW && !self_of_thread.busy;
	if (is_flow) {
		self_of_thread.flows++;
		self_of_thread.period = 0;
	}
	self = enter();
	if (self)
		op_attach(self, id, index, flags);
	self_of_thread.flows -= is_flow;
	self_leave(self);
}

void wcprof_v1_leave(wcprof_op op)
{
	uint64_t id = to_id(op);
	struct arena *arena;
	struct self *self = enter_late(&arena, id);

	if (self && self->slot && op_detach(self, id))
		self->period = 0;
	self_leave(self);
}

/* --- Waits and links --- */

wcprof_wait wcprof_v1_wait(enum wcprof_reason reason, wcprof_op target, const char *name)
{
	struct self *self = enter();
	struct record record = {
		.id = to_id(target),
		.fd = -1,
		.type = RECORD_WAIT,
		.what = (unsigned int)reason <= WCPROF_FOR_IO ? (uint8_t)reason : REASON_NONE,
		.flags = RECORD_ANNOTATED,
	};
	uint64_t handle;

	if (!self)
		return 0;
	handle = self_next_id(self);
	record.parent = op_current(self);
	record.ident = to_string(name);
	record.count = self->thread;
	record.start = clock_now_ticks();
	if (handles_add(recorder_arena, handle, &record) == HANDLE_NONE) {
		self_count(self, COUNTER_dropped_handles);
		handle = 0;
	}
	self_leave(self);
	return to_handle(handle);
}

void wcprof_v1_wait_set_target(wcprof_wait wait, wcprof_op target)
{
	struct self *self;
	struct open_entry *entry = enter_entry(wait, &self);

	if (entry && load_relaxed(&entry->record.type) == RECORD_WAIT)
		store_release(&entry->record.id, to_id(target));
	self_leave(self);
}

void wcprof_v1_wait_end(wcprof_wait wait)
{
	wcprof_v1_end(wait, WCPROF_UNSAID, 0);
}

void wcprof_v1_link(enum wcprof_link_kind kind, wcprof_op from, wcprof_op to, const char *ident)
{
	struct self *self = enter();
	struct record record = {
		.id = to_id(to),
		.parent = to_id(from),
		.fd = -1,
		.type = RECORD_LINK,
		.what = (unsigned int)kind <= WCPROF_LINK_REUSED_RESULT ? (uint8_t)kind : LINK_NONE,
		.flags = RECORD_ANNOTATED,
	};

	if (!self)
		return;
	if (record.parent == 0)
		record.parent = op_current(self);
	record.name = self->thread;
	record.ident = to_string(ident);
	record.start = record.end = clock_now_ticks();
	(void)chunk_append(self, &record);
	self_leave(self);
}

/* --- Traces --- */

void wcprof_v1_trace(const uint8_t *trace_id, const uint8_t *span_id)
{
	struct self *self = enter();

	if (self)
		context_say(self, trace_id, span_id);
	self_leave(self);
}

/* --- Flows --- */

void wcprof_v1_flow_begin(void)
{
	struct self *self;

	if (load_relaxed(&recorder_gate.mode) == GATE_UNSET)
		recorder_wake_up(false);
	self = self_enter_late();
	if (!self)
		return;
	if (self->flows > 0 || switch_flow_begins()) {
		self->flows++;
		self->period = 0;
	}
	self_leave(self);
}

void wcprof_v1_flow_end(void)
{
	struct self *self = self_enter_late();

	if (!self)
		return;
	if (self->flows > 0 && --self->flows == 0) {
		self->period = 0;
		switch_flow_ends();
	}
	self_leave(self);
}
