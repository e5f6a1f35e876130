/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording on and off. See switch.h.
 *
 * Async-signal-safe but for the wait for another thread at the switch. That lasts microseconds; the
 * first opening of the gate takes longer, as it makes the arena.
 */
#include "switch.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "arena.h"
#include "chunk.h"
#include "delays.h"
#include "descriptors.h"
#include "gate.h"
#include "identity.h"
#include "idle.h"
#include "mark.h"
#include "modules.h"
#include "op.h"
#include "opening.h"
#include "options.h"
#include "owncost.h"
#include "peek.h"
#include "meter.h"
#include "scope.h"
#include "self.h"
#include "socket.h"
#include "spare.h"
#include "stack.h"
#include "syscalls.h"
#include "text.h"
#include "usage.h"

#include "in_target.h"

/* The owner's, and read by it alone, but for what is said to be written elsewhere. */
static struct {
	uint32_t owner;                   /* 1 = somebody changes what follows, or the gate */
	uint32_t flows;                   /* threads and ops that are recorded even while off */
	uint32_t no_flows;                /* by the control thread: 1 = no new ones */
	bool begins_late;                 /* the arena's time begins when the gate first opens */
	const struct recorder_host *host; /* at load */
	struct clock_pair forked;         /* in a forked child: when it came to be */
	char socket[SOCKET_PATH_BYTES];   /* where the control thread listens, or empty: it does
					    * not yet */
} state;

/* Where this process can be reached, or will be. */
static void note_socket(struct arena *arena)
{
	if (state.socket[0])
		memcpy(arena->socket, state.socket, sizeof(state.socket));
	else if (recorder_options.control &&
		 !socket_path(&recorder_options, gate_pid(), gate_is_child(), arena->socket))
		arena->socket[0] = '\0';
}

static bool make_arena(void)
{
	bool is_ring = recorder_options.full == FULL_RING;
	uint64_t events = recorder_options.max_events;
	struct arena *arena = arena_create(gate_pid(), identity_start_ticks(), 0,
					   is_ring ? chunk_ring_events(events) : events);

	if (!arena)
		return false;
	arena->clock.base = gate_is_child() ? state.forked : clock_take_pair();
	arena->clock.kind = clock_kind;
	arena->is_ring = is_ring;
	arena->keep_s = (uint32_t)recorder_options.keep_s;
	arena->is_kept = recorder_options.keep != 0;
	arena->session = recorder_options.keep;
	identity_fill(arena, state.host->call_names, state.host->call_count);
	note_socket(arena);
	arena->process_op = (struct record){
		.start = arena->clock.base.ticks,
		.id = 1,
		.name = arena->exe_name,
		.fd = -1,
		.type = RECORD_OP,
		.what = KIND_PROCESS,
	};
	modules_save(arena);
	usage_begin(arena);
	meter_arena_made(arena);
	/* Pairs with whoever looks at the arena before the gate is on. */
	store_release(&recorder_arena, arena);
	return true;
}

/* The signals that the thread had blocked before. */
struct held_mask {
	uint64_t mask;
	bool has_mask;
};

/* A handler that came in here could wait for its own thread. One of a confined process comes here
 * no more, and the filter may have an end for the call. */
static struct held_mask switch_lock(void)
{
	struct held_mask held = { .has_mask = !gate_is_confined() };
	uint32_t nobody = 0;

	if (held.has_mask)
		held.mask = sys_block_signals();

	/* Pairs with switch_unlock(): what the owner before has changed is seen. */
	while (!cas_acq_rel(&state.owner, &nobody, 1)) {
		nobody = 0;
		sys_yield();
	}
	return held;
}

static void switch_unlock(struct held_mask held)
{
	assert(load_relaxed(&state.owner) == 1);
	store_release(&state.owner, 0);
	if (held.has_mask)
		sys_restore_signals(held.mask);
}

/* A reader of the arena may find a mixture of two paths, and nobody there: it tries again. */
void switch_listens_at(const char *path)
{
	struct held_mask held = switch_lock();

	memcpy(state.socket, path, sizeof(state.socket));
	if (recorder_arena)
		note_socket(recorder_arena);
	switch_unlock(held);
}

static void make_ready(void *is_ready)
{
	if (!descriptors_start() || (!recorder_arena && !make_arena()))
		return;
	if (!stack_warm_up())
		text_complain("no memory for call stacks:", "none is recorded");
	op_know_brief();
	*(bool *)is_ready = true;
}

/* The recording has nothing of the time before. */
static void begin_time(struct arena *arena)
{
	arena->clock.base = clock_take_pair();
	arena->process_op.start = arena->clock.base.ticks;
	usage_begin(arena);
}

static void try_to_open(void *is_open)
{
	bool is_ready = false;

	make_ready(&is_ready);
	if (!is_ready)
		return;
	descriptors_forget_all();
	if (state.begins_late && opening_now(recorder_arena) == 0)
		begin_time(recorder_arena);
	opening_begin(recorder_arena, clock_now_ticks());
	self_begin_period();
	/* Pairs with self_enter(): who sees the gate on sees the arena, its opening and the new
	 * period. */
	store_release(&recorder_gate.mode, GATE_ON);
	*(bool *)is_open = true;
}

static bool open_gate(void)
{
	bool is_open = load_relaxed(&recorder_gate.mode) == GATE_ON;
	struct slow_path path;

	if (is_open || gate_is_confined())
		return is_open;
	path = slow_path_begin(&self_of_thread);
	/* Else the program's own stack would have to do. */
	(void)spare_start();
	spare_call_surely(try_to_open, &is_open);
	slow_path_end(&self_of_thread, &path);
	return is_open;
}

void switch_prepare(void)
{
	struct held_mask held = switch_lock();
	bool is_ready;

	if (!recorder_arena && !gate_is_confined()) {
		(void)spare_start();
		spare_call_surely(make_ready, &is_ready);
		state.begins_late = true;
	}
	switch_unlock(held);
}

static void close_gate(void)
{
	if (load_relaxed(&recorder_gate.mode) == GATE_ON)
		opening_end(recorder_arena, clock_now_ticks());
	/* Unset: a hook has to bring the control thread up. */
	store_release(&recorder_gate.mode,
		      load_relaxed(&recorder_gate.settled) ? GATE_OFF : GATE_UNSET);
	descriptors_lose_sight();
}

/* After a pause, of which nothing is in what follows. */
static void begin_anew(void)
{
	if (opening_now(recorder_arena) == 1)
		return;
	usage_begin(recorder_arena);
	owncost_begin_window(recorder_arena);
	idle_forget(recorder_arena);
}

/* The threads' CPU time and the like: a dump is taken later. */
static void count_until_now(void)
{
	mark_last(recorder_arena);
	idle_note_last(recorder_arena);
}

int switch_enable(void)
{
	struct held_mask held = switch_lock();
	bool was_open = load_relaxed(&recorder_gate.mode) == GATE_ON, is_open;

	/* No mark has how long threads waited in the pause. */
	if (!was_open && recorder_arena && mark_gap_ticks != MARK_NEVER)
		delays_update_all(recorder_arena);
	is_open = open_gate();
	if (is_open && !was_open)
		begin_anew();
	if (is_open && !gate_is_on()) {
		store_relaxed(&gate_facts.is_on, 1);
		scope_set_switch(true);
		self_begin_period();
	}
	switch_unlock(held);
	return is_open ? 0 : -ENOMEM;
}

void switch_disable(void)
{
	struct held_mask held = switch_lock();

	/* The gate first: a thread that begins meanwhile is in scope as long as the others are. */
	if (state.flows == 0) {
		if (load_relaxed(&recorder_gate.mode) == GATE_ON)
			count_until_now();
		close_gate();
	}
	store_relaxed(&gate_facts.is_on, 0);
	scope_set_switch(false);
	if (state.flows > 0)
		self_begin_period();
	switch_unlock(held);
}

void switch_next_window(void)
{
	struct held_mask held = switch_lock();

	if (gate_is_on() && load_relaxed(&recorder_gate.mode) == GATE_ON) {
		count_until_now();
		close_gate();
		if (open_gate())
			begin_anew();
	}
	switch_unlock(held);
}

bool switch_flow_begins(void)
{
	struct held_mask held;
	bool is_open;

	if (!state.host)
		return false;
	held = switch_lock();
	is_open = !load_relaxed(&state.no_flows) && open_gate();
	state.flows += is_open;
	switch_unlock(held);
	return is_open;
}

void switch_allow_flows(bool allow)
{
	store_relaxed(&state.no_flows, !allow);
}

void switch_flow_ends(void)
{
	struct held_mask held = switch_lock();

	/* 0 in a child that was forked in a flow. */
	if (state.flows > 0 && --state.flows == 0 && !gate_is_on())
		close_gate();
	switch_unlock(held);
}

/* In a child of fork(), too, which has its parent's filter. */
void switch_confine(bool is_confined)
{
	struct held_mask held = switch_lock();

	store_relaxed(&gate_facts.is_confined, is_confined);
	if (is_confined)
		close_gate();
	else if (gate_is_on() || state.flows > 0)
		(void)open_gate();
	switch_unlock(held);
}

void switch_start(const struct recorder_host *host)
{
	assert(!state.host);
	state.host = host;
}

const struct recorder_host *switch_host(void)
{
	return state.host;
}

void switch_fork_child(const struct clock_pair *forked)
{
	state.owner = 0;
	state.flows = 0;
	state.begins_late = false;
	state.socket[0] = '\0';
	state.forked = *forked;
	gate_facts.is_on = 0;
	scope_set_switch(false);
	peek_forget();
	owncost_fork_child();
	meter_fork_child();
}
