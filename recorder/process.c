/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the recorder in a process: load, fork, programs that it starts, end.
 *
 * On top of all other files: only the functions of wcprof.h call it, if the gate is unset.
 * States of the gate: UNSET (before the constructor, or in a forked child) -> OFF or ON. A forked
 * child finds its gate wiped by the kernel, and forgets its parent's arena at the first thing that
 * happens in it. It makes an arena of its own when a hook first comes by: most children exec before
 * that. Its control thread has to wait for a hook in which a thread may be created.
 * Everything here is async-signal-safe but recorder_start() and the creation of the control thread.
 */
#include "recorder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "aside.h"
#include "budget.h"
#include "claim.h"
#include "clock.h"
#include "clockreads.h"
#include "control.h"
#include "deployment.h"
#include "filter.h"
#include "gate.h"
#include "idle.h"
#include "inhandler.h"
#include "lastdump.h"
#include "mark.h"
#include "modules.h"
#include "options.h"
#include "pipes.h"
#include "meter.h"
#include "programs.h"
#include "room.h"
#include "sampler.h"
#include "roster.h"
#include "self.h"
#include "settings.h"
#include "slow.h"
#include "spare.h"
#include "stack.h"
#include "switch.h"
#include "trial.h"
#include "syscalls.h"
#include "text.h"

#include "in_target.h"

static struct {
	const struct recorder_host *host; /* at load */
	uint32_t bringing_up;             /* 1 = somebody is in recorder_wake_up() */
	uint32_t clones;   /* calls of clone() that have not returned; not wiped in a child */
	uint32_t is_clone; /* made by clone(): without a control thread */
} process;

/* --- Load ------------------------------------------------------------------------------------ */

static const char *get_environment(const char *name)
{
	return secure_getenv(name);
}

static void settle(void)
{
	bool has_control = recorder_options.control && !process.is_clone;

	if (!has_control || control_start(process.host->thread_create))
		store_relaxed(&recorder_gate.settled, 1);
}

/* A process in which nothing is recorded. No system calls: it may be confined. */
static void stay_off(void)
{
	store_relaxed(&recorder_gate.settled, 1);
	store_relaxed(&recorder_gate.present, 1);
	store_release(&recorder_gate.mode, GATE_OFF);
}

bool recorder_is_shut_out(void)
{
	if (!filter_may_kill())
		return false;
	/* From here on no wrong option is complained of. */
	gate_facts.is_confined = 1;
	options_read(&recorder_options, get_environment);
	if (recorder_options.seccomp == SECCOMP_IGNORE) {
		gate_facts.is_confined = 0;
		return false;
	}
	stay_off();
	return true;
}

void recorder_start(const struct recorder_host *host)
{
	assert(load_relaxed(&recorder_gate.present) == 0);
	text_note_stderr();
	clock_start();
	options_read(&recorder_options, get_environment);
	deployment_start(get_environment);
	settings_start();
	claim_start(host->is_go);
	process.host = host;
	gate_facts.pid = (uint32_t)sys_getpid();
	gate_facts.user = (uint32_t)sys_geteuid();
	switch_start(host);
	programs_start(get_environment("LD_PRELOAD"));
	mark_gap_ticks = recorder_options.cpu_time ? MARK_GAP_TICKS : MARK_NEVER;
	sys_madvise(&recorder_gate, sizeof(recorder_gate), MADV_WIPEONFORK);
	store_relaxed(&recorder_gate.present, 1);
	if (recorder_options.enable && budget_start(recorder_options.control != 0) != 0)
		text_complain("nothing is recorded:", room_reason());
	else if (recorder_arena && recorder_arena->anonymous)
		text_complain("no shared memory:",
			      "the recording is lost if the process is killed (wcprof check)");
	if (load_relaxed(&recorder_gate.mode) != GATE_ON)
		store_release(&recorder_gate.mode, GATE_OFF);
	settle();
}

/* --- What is recorded leaves the process ------------------------------------------------------ */

/* Whoever reads the arena later cannot ask the kernel any more. */
static void settle_accounts(struct arena *arena)
{
	modules_note_last();
	roster_note_names(arena);
	mark_last(arena);
	idle_note_last(arena);
}

static void hand_over(struct arena *arena)
{
	if (lastdump_write(arena))
		arena_unlink(arena);
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

/* A child of a trial is not recorded, or under a budget one without a control thread: nobody would
 * turn that off. */
void recorder_fork_child(void)
{
	struct arena *arena = recorder_arena;
	bool stays_off = trial_is_on() || (process.clones > 0 && budget_is_running());
	struct clock_pair forked;

	if (!process.host)
		return;
	if (gate_is_confined()) {
		stay_off();
		return;
	}
	struct slow_path path = { clock_thread_cpu_ns() };
	store_release(&recorder_gate.mode, GATE_UNSET);
	stack_fork_child();
	spare_fork_child();
	claim_fork_child();
	control_forget();
	slow_fork_child();
	room_forget();
	gate_facts.pid = (uint32_t)sys_getpid();
	gate_facts.generation++;
	gate_facts.wants_enable = gate_is_on() && recorder_options.follow && !stays_off;
	process.is_clone = process.clones > 0;
	process.clones = 0;
	process.bringing_up = 0;
	forked = clock_take_pair();
	switch_fork_child(&forked);
	recorder_arena = NULL;
	if (arena)
		arena_forget(arena, self_of_thread.busy);
	self_forget();
	slow_path_end(&self_of_thread, &path);
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

bool recorder_minds_signals(void)
{
	if (!process.host)
		return false;
	notice_fork();
	return !gate_is_confined() && !gate_is_confined_vfork_child() && !recorder_in_vfork_child();
}

static void bring_up(bool may_create_thread)
{
	uint32_t unset = GATE_UNSET;

	if (gate_facts.wants_enable) {
		gate_facts.wants_enable = 0;
		(void)switch_enable();
	}
	if (!may_create_thread && recorder_options.control)
		return;
	/* Then a later hook may. */
	if (recorder_options.control && inhandler_is_likely())
		return;
	if (load_relaxed(&recorder_gate.settled) == 0)
		settle();
	if (load_relaxed(&recorder_gate.settled) != 0)
		(void)cas_acq_rel(&recorder_gate.mode, &unset, GATE_OFF);
}

void recorder_wake_up(bool may_create_thread)
{
	uint32_t nobody = 0;

	if (!process.host)
		return;
	notice_fork();
	if (gate_is_confined())
		return;
	/* Nothing to do but what needs a thread: lock hooks of such a child come by often. */
	may_create_thread = may_create_thread && !aside_rests();
	if (!gate_facts.wants_enable && !may_create_thread && recorder_options.control)
		return;
	if ((uint32_t)sys_getpid() != gate_pid())
		return;
	if (!cas_acq_rel(&process.bringing_up, &nobody, 1))
		return;
	bring_up(may_create_thread);
	store_release(&process.bringing_up, 0);
}

/* --- Other rights ---------------------------------------------------------------------------- */

/* A hook in which a thread may be made is to look in. Off, hooks pass by. */
static void unsettle(void)
{
	uint32_t off = GATE_OFF;

	store_relaxed(&recorder_gate.settled, 0);
	(void)cas_acq_rel(&recorder_gate.mode, &off, GATE_UNSET);
}

void recorder_closes_nothing(void)
{
	if (!process.host || recorder_in_vfork_child())
		return;
	/* The last moment for a control thread. */
	recorder_wake_up(true);
	if (!gate_is_confined())
		aside_stays();
}

bool recorder_steps_aside(enum recorder_aside reason)
{
	if (!process.host || gate_is_confined())
		return false;
	notice_fork();
	if (recorder_in_vfork_child())
		return false;
	if (reason == ASIDE_IF_RIGHTS_DIFFER && aside_has_same_rights())
		return false;
	(void)aside_call_begins(reason == ASIDE_BRIEFLY);
	return true;
}

void recorder_steps_back(bool has_stepped)
{
	if (has_stepped && aside_call_ends())
		unsettle();
}

bool recorder_gives_way(bool *is_again, bool has_failed)
{
	if (*is_again && has_failed)
		recorder_steps_back(true);
	if (*is_again || !process.host || gate_is_confined())
		return false;
	notice_fork();
	if (recorder_in_vfork_child())
		return false;
	*is_again = aside_call_begins(false);
	if (!*is_again)
		recorder_steps_back(true);
	else if (load_acquire(&recorder_arena))
		arena_count(recorder_arena, COUNTER_unattended);
	return *is_again;
}

/* --- Filters of system calls ------------------------------------------------------------------ */

bool recorder_vfork_begins(void)
{
	if (gate_is_confined() || gate_is_confined_vfork_child())
		return false;
	gate_vfork_begins();
	return true;
}

static void confine_vfork_child(bool is_confined)
{
	gate_confine_vfork_child(is_confined);
	self_confine(is_confined);
}

void recorder_vfork_ends(void)
{
	gate_vfork_ends();
	confine_vfork_child(false);
}

/* Whose thread that was is gone; its timers would go on. */
static void stop_sampling(void)
{
	uint64_t mask = sys_block_signals();

	(void)sampler_tick(false, 0);
	sys_restore_signals(mask);
}

struct recorder_confinement recorder_confine(void)
{
	struct recorder_confinement before = { 0 };
	struct arena *arena;

	if (!process.host || gate_is_confined() || gate_is_confined_vfork_child())
		return before;
	if (recorder_in_vfork_child()) {
		before.was_vfork = gate_is_in_vfork();
		confine_vfork_child(before.was_vfork);
		return before;
	}
	recorder_wake_up(false);
	before.was_free = true;
	/* This call has no end: no thread is made any more. */
	(void)aside_call_begins(false);
	before.is_settled = exchange_acq_rel(&recorder_gate.settled, 1) != 0;
	stop_sampling();
	arena = load_acquire(&recorder_arena);
	if (arena)
		settle_accounts(arena);
	before.is_counted = load_relaxed(&recorder_gate.mode) == GATE_ON;
	if (before.is_counted) {
		store_relaxed(&arena->filtered_ticks, clock_now_ticks());
		arena_count(arena, COUNTER_unseen_filtered);
	}
	switch_confine(true);
	if (arena)
		hand_over(arena);
	return before;
}

void recorder_unconfine(const struct recorder_confinement *before)
{
	if (before->was_vfork)
		confine_vfork_child(false);
	if (!before->was_free)
		return;
	assert(gate_is_confined());
	if (before->is_counted) {
		store_relaxed(&recorder_arena->filtered_ticks, 0);
		add_relaxed(&recorder_arena->counters[COUNTER_unseen_filtered], -1);
	}
	switch_confine(false);
	if (!before->is_settled)
		unsettle();
	recorder_steps_back(true);
}

/* --- Threads and programs -------------------------------------------------------------------- */

void thread_end(void)
{
	clock_reads_end();
	if (self_take_flow())
		switch_flow_ends();
	self_finish();
}

struct looking {
	const struct program_start *start;
	enum counter hazard;
	bool may_start;
};

static void look_at_program(void *argument)
{
	struct looking *looking = argument;

	looking->hazard = programs_hazard(looking->start);
}

void recorder_program_starts(const struct program_start *start)
{
	struct looking looking = { start, COUNTER_COUNT, true };

	if (!gate_records() || recorder_in_vfork_child())
		return;
	(void)spare_call(look_at_program, &looking);
	if (looking.hazard == COUNTER_COUNT)
		return;
	/* A forked child makes an arena for what is to be said. */
	recorder_wake_up(false);
	if (load_acquire(&recorder_arena))
		arena_count(recorder_arena, looking.hazard);
}

void recorder_binds_deep(void)
{
	if (gate_records() && !recorder_in_vfork_child() && load_acquire(&recorder_arena))
		arena_count(recorder_arena, COUNTER_unseen_deepbind);
}

/* --- End ------------------------------------------------------------------------------------- */

static void end_process_op(struct arena *arena)
{
	(void)cas_acq_rel(&arena->process_ended, &(uint64_t){ 0 }, clock_now_ticks());
}

void recorder_image_ends(enum recorder_end end)
{
	struct arena *arena;

	if (!process.host)
		return;
	notice_fork();
	if (gate_is_confined() || recorder_in_vfork_child())
		return;
	if (end == END_EXIT && gate_facts.wants_enable)
		recorder_wake_up(false);
	arena = load_acquire(&recorder_arena);
	if (arena && end == END_EXIT) {
		pipes_end();
		thread_end();
		end_process_op(arena);
	}
	if (arena)
		settle_accounts(arena);
	if (arena && end == END_PERHAPS)
		(void)lastdump_write(arena);
	else if (arena)
		hand_over(arena);
	if (end == END_EXIT)
		control_unlink();
}

static void look_whether_it_starts(void *argument)
{
	struct looking *looking = argument;

	looking->may_start = programs_may_start(looking->start);
}

void recorder_image_is_replaced(const struct program_start *start)
{
	struct looking looking = { start, COUNTER_COUNT, true };

	recorder_program_starts(start);
	if (!process.host || gate_is_confined() || recorder_in_vfork_child())
		return;
	if (load_acquire(&recorder_arena))
		(void)spare_call(look_whether_it_starts, &looking);
	if (looking.may_start)
		recorder_image_ends(END_EXEC);
}
