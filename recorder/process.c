/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the recorder in a process: load, on and off, fork, end.
 *
 * States of the gate: UNSET (not set up in this process: before the constructor, or a forked child)
 * -> OFF or ON. A forked child finds its gate wiped by the kernel, forgets its parent's arena at
 * the first thing that happens in it, and makes an arena of its own when a hook first comes by:
 * most children exec before that. Its control thread has to wait for a hook in which a thread may
 * be created.
 *
 * Everything here is async-signal-safe but recorder_start() and the creation of the control thread.
 */
#include "process.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "annotations.h"
#include "aside.h"
#include "chunk.h"
#include "clock.h"
#include "control.h"
#include "descriptors.h"
#include "identity.h"
#include "lastdump.h"
#include "mark.h"
#include "modules.h"
#include "op.h"
#include "options.h"
#include "programs.h"
#include "scope.h"
#include "sample.h"
#include "sampler.h"
#include "self.h"
#include "settings.h"
#include "snapshot.h"
#include "socket.h"
#include "stack.h"
#include "strings.h"
#include "syscalls.h"
#include "usage.h"

#include "in_target.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct gate recorder_gate;

/* Written by the constructor and by fork's child; the rest as said. */
static struct {
	const struct recorder_host *host;
	uint32_t pid;
	uint32_t user; /* effective, as it was loaded */
	uint32_t is_child;
	struct clock_pair forked; /* when this child came to be */
	uint32_t wants_enable;    /* record as soon as a hook comes by */
	uint32_t is_on;           /* as the gate says; not wiped in a child */
	uint32_t bringing_up;     /* 1 = somebody is in recorder_wake_up() */
	uint32_t switch_owner;    /* 1 = somebody changes is_on, flows or the gate */
	uint32_t clones;      /* calls of clone() that have not returned; not wiped in a child */
	uint32_t is_clone;    /* made by clone(): without a control thread */
	uint32_t is_confined; /* a filter may kill whoever makes a system call of ours */
	uint32_t no_flows;    /* 1 = flows are not recorded while is_on is 0 */
	uint32_t flows;       /* threads and ops that are recorded even while is_on is 0 */
	char socket[SOCKET_PATH_BYTES]; /* switch_owner's; where the control thread listens, or
					 * empty: it does not yet */
} process;

uint32_t process_pid(void)
{
	return process.pid;
}

bool process_is_the_users(void)
{
	return (uint32_t)sys_geteuid() == process.user;
}

bool recorder_in_vfork_child(void)
{
	return load_relaxed(&recorder_gate.present) != 0 && (uint32_t)sys_getpid() != process.pid;
}

bool process_is_confined(void)
{
	return load_relaxed(&process.is_confined) != 0;
}

/* --- On and off ------------------------------------------------------------------------------ */

/* Where this process can be reached, or will be. */
static void note_socket(struct arena *arena)
{
	if (process.socket[0])
		memcpy(arena->socket, process.socket, sizeof(process.socket));
	else if (recorder_options.control &&
		 !socket_path(&recorder_options, process.pid, process.is_child, arena->socket))
		arena->socket[0] = '\0';
}

static bool make_arena(void)
{
	bool is_ring = recorder_options.full == FULL_RING;
	uint64_t events = recorder_options.max_events;
	struct arena *arena = arena_create(process.pid, identity_start_ticks(), 0,
					   is_ring ? chunk_ring_events(events) : events);

	if (!arena)
		return false;
	arena->clock.base = process.is_child ? process.forked : clock_take_pair();
	arena->clock.kind = clock_kind;
	arena->is_ring = is_ring;
	identity_fill(arena, process.host->call_names, process.host->call_count);
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
	/* Pairs with whoever looks at the arena before the gate is on. */
	store_release(&recorder_arena, arena);
	return true;
}

/* The switch and the flows belong to one thread at a time: the control thread, or one of the
 * program's that marks a flow. Held for microseconds, but for the first time that the gate is
 * opened. */
static void switch_lock(void)
{
	uint32_t nobody = 0;

	while (!cas_acq_rel(&process.switch_owner, &nobody, 1)) {
		nobody = 0;
		sys_yield();
	}
}

static void switch_unlock(void)
{
	assert(load_relaxed(&process.switch_owner) == 1);
	store_release(&process.switch_owner, 0);
}

/* Who reads the arena meanwhile finds a mixture of two paths, and nobody there: it tries again. */
void process_listens_at(const char *path)
{
	switch_lock();
	memcpy(process.socket, path, sizeof(process.socket));
	if (recorder_arena)
		note_socket(recorder_arena);
	switch_unlock();
}

static bool open_gate(void)
{
	if (load_relaxed(&recorder_gate.mode) == GATE_ON)
		return true;
	if (process_is_confined() || (!recorder_arena && !make_arena()))
		return false;
	stack_warm_up();
	descriptors_forget_all();
	self_begin_period();
	/* Pairs with self_enter(): who sees the gate on sees the arena and the new period. */
	store_release(&recorder_gate.mode, GATE_ON);
	return true;
}

static void close_gate(void)
{
	if (load_relaxed(&recorder_gate.mode) == GATE_ON)
		store_relaxed(&recorder_arena->off_ticks, clock_now_ticks());
	store_release(&recorder_gate.mode, GATE_OFF);
	descriptors_lose_sight();
}

int process_enable(void)
{
	bool is_open;

	switch_lock();
	is_open = open_gate();
	if (is_open && !process.is_on) {
		store_relaxed(&process.is_on, 1);
		scope_set_switch(true);
		self_begin_period();
	}
	switch_unlock();
	return is_open ? 0 : -ENOMEM;
}

void process_disable(void)
{
	switch_lock();
	store_relaxed(&process.is_on, 0);
	scope_set_switch(false);
	if (process.flows == 0)
		close_gate();
	else
		self_begin_period();
	switch_unlock();
}

bool process_is_on(void)
{
	return load_relaxed(&process.is_on) != 0;
}

bool process_records(void)
{
	return load_relaxed(&recorder_gate.mode) == GATE_ON || process.wants_enable;
}

bool process_flow_begins(void)
{
	bool is_open;

	if (!process.host)
		return false;
	switch_lock();
	is_open = !load_relaxed(&process.no_flows) && open_gate();
	process.flows += is_open;
	switch_unlock();
	return is_open;
}

void process_allow_flows(bool allow)
{
	store_relaxed(&process.no_flows, !allow);
}

bool process_allows_flows(void)
{
	return !load_relaxed(&process.no_flows);
}

void process_flow_ends(void)
{
	switch_lock();
	/* 0 in a child that was forked in a flow. */
	if (process.flows > 0 && --process.flows == 0 && !process.is_on)
		close_gate();
	switch_unlock();
}

int process_reset(void)
{
	struct arena *arena = load_acquire(&recorder_arena);

	if (!arena)
		return 0;
	if (!snapshot_lock(arena))
		return -EBUSY;
	snapshot_discard(arena);
	snapshot_unlock(arena);
	chunk_trim(arena, CHUNKS_KEPT);
	return 0;
}

/* --- Load ------------------------------------------------------------------------------------ */

static const char *get_environment(const char *name)
{
	return secure_getenv(name);
}

static void settle(void)
{
	if (recorder_options.control && !process.is_clone)
		control_start(process.host->thread_create);
	store_relaxed(&recorder_gate.settled, 1);
}

void recorder_start(const struct recorder_host *host)
{
	assert(load_relaxed(&recorder_gate.present) == 0);
	clock_start();
	options_read(&recorder_options, get_environment);
	settings_start();
	process.host = host;
	process.pid = (uint32_t)sys_getpid();
	process.user = (uint32_t)sys_geteuid();
	programs_start(get_environment("LD_PRELOAD"));
	mark_gap_ticks = recorder_options.cpu_time ? MARK_GAP_TICKS : MARK_NEVER;
	sys_madvise(&recorder_gate, sizeof(recorder_gate), MADV_WIPEONFORK);
	store_relaxed(&recorder_gate.present, 1);
	if (recorder_options.enable && process_enable() != 0)
		text_complain("no memory:", "nothing is recorded");
	else if (recorder_arena && recorder_arena->anonymous)
		text_complain("no shared memory:",
			      "what is recorded is lost if the process is killed (wcprof check)");
	if (load_relaxed(&recorder_gate.mode) != GATE_ON)
		store_release(&recorder_gate.mode, GATE_OFF);
	settle();
}

/* --- What is recorded leaves the process ------------------------------------------------------ */

/* Whoever reads the arena later cannot ask the kernel any more. */
static void settle_accounts(struct arena *arena)
{
	modules_note();
	usage_save(arena);
}

static void hand_over(struct arena *arena)
{
	if (lastdump_write(arena))
		arena_unlink(arena);
}

/* --- Other rights ---------------------------------------------------------------------------- */

bool recorder_steps_aside(enum recorder_aside reason)
{
	if (!process.host || process_is_confined() || recorder_in_vfork_child())
		return false;
	return (reason == ASIDE_ALWAYS || !aside_has_same_rights()) && aside_send();
}

void recorder_steps_back(bool was_there)
{
	if (was_there)
		control_start(process.host->thread_create);
}

/* In a child of fork(), too, which has its parent's filter. */
static void confine(bool is_confined)
{
	switch_lock();
	store_relaxed(&process.is_confined, is_confined);
	if (is_confined)
		close_gate();
	else if (process.is_on || process.flows > 0)
		(void)open_gate();
	switch_unlock();
}

struct recorder_confinement recorder_is_confined(void)
{
	struct recorder_confinement before = { 0 };
	struct arena *arena;

	if (!process.host || process_is_confined() || recorder_in_vfork_child())
		return before;
	recorder_wake_up(false);
	before.was_free = true;
	before.was_there = aside_send();
	/* Whose thread that was is gone; its timers would go on. */
	(void)sampler_tick(false, 0);
	arena = load_acquire(&recorder_arena);
	if (arena)
		settle_accounts(arena);
	before.is_counted = load_relaxed(&recorder_gate.mode) == GATE_ON;
	if (before.is_counted) {
		store_relaxed(&arena->filtered_ticks, clock_now_ticks());
		arena_count(arena, COUNTER_unseen_filtered);
	}
	confine(true);
	if (arena)
		hand_over(arena);
	return before;
}

void recorder_is_free(const struct recorder_confinement *before)
{
	if (!before->was_free)
		return;
	if (before->is_counted) {
		store_relaxed(&recorder_arena->filtered_ticks, 0);
		add_relaxed(&recorder_arena->counters[COUNTER_unseen_filtered], -1);
	}
	confine(false);
	recorder_steps_back(before->was_there);
}

/* --- Fork ------------------------------------------------------------------------------------ */

void recorder_fork_prepare(void)
{
	stack_fork_prepare();
}

void recorder_fork_parent(void)
{
	stack_fork_parent();
}

void recorder_clone_begins(void)
{
	add_relaxed(&process.clones, 1);
}

void recorder_clone_ends(void)
{
	add_relaxed(&process.clones, -1);
}

/* A child that is not to be recorded. No system calls: it may be confined. */
static void stay_off(void)
{
	store_relaxed(&recorder_gate.settled, 1);
	store_relaxed(&recorder_gate.present, 1);
	store_release(&recorder_gate.mode, GATE_OFF);
}

void recorder_fork_child(void)
{
	struct arena *arena = recorder_arena;

	if (!process.host)
		return;
	if (process_is_confined()) {
		stay_off();
		return;
	}
	store_release(&recorder_gate.mode, GATE_UNSET);
	stack_fork_child();
	sample_fork_child();
	control_forget();
	process.pid = (uint32_t)sys_getpid();
	process.is_child = 1;
	process.is_clone = process.clones > 0;
	process.clones = 0;
	process.forked = clock_take_pair();
	process.wants_enable = process.is_on && recorder_options.follow;
	process.is_on = 0;
	process.bringing_up = 0;
	process.switch_owner = 0;
	process.flows = 0;
	process.socket[0] = '\0';
	scope_set_switch(false);
	annotations_forget();
	recorder_arena = NULL;
	if (arena)
		arena_forget(arena, self_of_thread.busy);
	self_forget();
	if (!recorder_options.follow) {
		stay_off();
		return;
	}
	store_relaxed(&recorder_gate.settled, 0);
	store_relaxed(&recorder_gate.present, 1);
}

/* A child whose fork went past the hooks has its parent's arena in hand until then. A vfork child
 * shares this memory, and leaves it alone. */
static void notice_fork(void)
{
	if (load_relaxed(&recorder_gate.present) == 0)
		recorder_fork_child();
}

static void bring_up(bool may_create_thread)
{
	if (process.wants_enable) {
		process.wants_enable = 0;
		(void)process_enable();
	}
	if (!may_create_thread && recorder_options.control)
		return;
	if (load_relaxed(&recorder_gate.settled) == 0)
		settle();
	if (load_relaxed(&recorder_gate.mode) == GATE_UNSET)
		store_release(&recorder_gate.mode, GATE_OFF);
}

void recorder_wake_up(bool may_create_thread)
{
	uint32_t nobody = 0;

	if (!process.host)
		return;
	notice_fork();
	if (process_is_confined())
		return;
	/* Nothing to do but what needs a thread: lock hooks of such a child come by often. */
	if (!process.wants_enable && !may_create_thread && recorder_options.control)
		return;
	if ((uint32_t)sys_getpid() != process.pid)
		return;
	if (!cas_acq_rel(&process.bringing_up, &nobody, 1))
		return;
	bring_up(may_create_thread);
	store_release(&process.bringing_up, 0);
}

/* --- End ------------------------------------------------------------------------------------- */

static void end_process_op(struct arena *arena)
{
	uint64_t not_yet = 0;

	(void)cas_acq_rel(&arena->process_ended, &not_yet, clock_now_ticks());
}

void recorder_image_ends(enum recorder_end end)
{
	struct arena *arena;

	if (!process.host)
		return;
	notice_fork();
	if (process_is_confined() || recorder_in_vfork_child())
		return;
	if (end == END_EXIT && process.wants_enable)
		recorder_wake_up(false);
	arena = load_acquire(&recorder_arena);
	if (arena && end == END_EXIT) {
		thread_end();
		end_process_op(arena);
	}
	if (arena) {
		settle_accounts(arena);
		hand_over(arena);
	}
	if (end == END_EXIT)
		control_unlink();
}
