/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget. See budget.h.
 */
#include "budget.h"

#include "age.h"
#include "arena.h"
#include "census.h"
#include "clock.h"
#include "gate.h"
#include "opening.h"
#include "owncost.h"
#include "pace.h"
#include "switch.h"
#include "usage.h"

#include "in_target.h"

enum { NS_PER_MS = 1000000 };

static struct {
	uint64_t budget;     /* millionths of the CPU time; 0 = none */
	uint32_t is_running; /* any thread reads */
	bool has_slot;       /* it is decided about */
	uint64_t slot;
	struct pace pace;
	uint64_t own_ns; /* these two: of this window, as far as the pace knows */
	uint64_t cpu_ns;
	uint64_t dumps_ns; /* of the process, the same */
} state;

int budget_turn_on(void)
{
	switch_prepare();
	census_look();
	if (switch_enable() != 0)
		return -1;
	census_begin();
	return 0;
}

void budget_turn_off(void)
{
	switch_disable();
	census_end();
}

bool budget_is_running(void)
{
	return load_relaxed(&state.is_running) != 0;
}

/* For dumps. One that is taken meanwhile may have some of it. */
static void note(struct budget_tally *tally, bool is_running)
{
	bool was_running =
		load_relaxed(&tally->begun_ticks) != 0 && load_relaxed(&tally->ended_ticks) == 0;

	if (is_running && state.budget > 0)
		store_relaxed(&tally->budget, state.budget);
	if (is_running == was_running)
		return;
	if (is_running)
		store_relaxed(&tally->begun_ticks, clock_now_ticks());
	store_relaxed(&tally->ended_ticks, is_running ? 0 : clock_now_ticks());
}

static void run(bool is_running)
{
	struct arena *arena = load_acquire(&recorder_arena);

	/* Dumps before it are none of its. */
	if (is_running && !budget_is_running())
		state.dumps_ns = arena ? load_relaxed(&arena->cost.dumps_ns) : 0;
	store_relaxed(&state.is_running, is_running);
	if (arena)
		note(&arena->budget, is_running);
}

void budget_set(uint64_t budget)
{
	state.budget = budget;
	state.has_slot = false;
	if (budget > 0 && gate_is_on())
		run(true);
}

bool budget_begin(void)
{
	if (state.budget == 0)
		return false;
	run(true);
	return true;
}

void budget_end(void)
{
	state.has_slot = false;
	run(false);
}

int budget_start(bool has_control)
{
	if (state.budget > 0 && !has_control) {
		text_complain("WCPROF_BUDGET:", "there is none without the control thread");
		state.budget = 0;
	}
	if (budget_begin() && !pace_records(pace_slot_at(clock_mono_ns()).number,
					    pace_share(&state.pace, state.budget)))
		return 0;
	return switch_enable();
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* The cost of this window since it was looked at last, and of all dumps since then. A window is
 * dumped when it is over. */
static void learn(struct arena *arena)
{
	struct owncost_reading cost;
	uint64_t own_ns, cpu_ns;

	usage_save(arena);
	owncost_note_control();
	owncost_read(arena, clock_own_rate(CLOCK_APART_LEAST_NS), &cost);
	own_ns = owncost_sum(&cost.window) - cost.window.dumps_ns;
	cpu_ns = load_relaxed(&arena->usage.cpu_ns);
	pace_learn(&state.pace,
		   since(own_ns, state.own_ns) + since(cost.all.dumps_ns, state.dumps_ns),
		   since(cpu_ns, state.cpu_ns));
	state.own_ns = own_ns;
	state.cpu_ns = cpu_ns;
	state.dumps_ns = cost.all.dumps_ns;
	store_relaxed(&arena->budget.cost, pace_cost(&state.pace));
}

/* More windows than a dump can tell apart are of no use. */
static bool is_full(const struct arena *arena, uint64_t rate)
{
	uint32_t now = opening_now(arena);
	uint64_t aged = age_limit(arena, clock_now_ticks(), rate);
	uint64_t dumped = load_relaxed(&arena->dumped_ticks), begun, ended;

	return now + 1 >= OPENINGS_KEPT &&
	       opening_times(arena, now + 2 - OPENINGS_KEPT, &begun, &ended) && ended > dumped &&
	       ended > aged;
}

/* Without memory it is tried again in the next slot that is to be recorded. */
static void turn(bool is_on)
{
	struct arena *arena = load_acquire(&recorder_arena);

	if (is_on == gate_is_on() ||
	    (is_on && arena && is_full(arena, clock_own_rate(CLOCK_APART_LEAST_NS))))
		return;
	state.own_ns = state.cpu_ns = 0;
	if (is_on)
		(void)budget_turn_on();
	else
		budget_turn_off();
}

int budget_tick(uint64_t now_ns, bool is_trial)
{
	struct pace_slot slot = pace_slot_at(now_ns);

	if (!budget_is_running() || is_trial)
		return -1;
	if (state.budget == 0) {
		turn(true);
		run(false);
		return -1;
	}
	if (!state.has_slot || slot.number != state.slot) {
		switch_prepare();
		run(true);
		if (state.has_slot && gate_is_on())
			learn(recorder_arena);
		state.has_slot = true;
		state.slot = slot.number;
		turn(pace_records(slot.number, pace_share(&state.pace, state.budget)));
	}
	return (int)((slot.end_ns - now_ns) / NS_PER_MS) + 1;
}

void budget_leave(void)
{
	if (!budget_is_running())
		return;
	turn(false);
	state.has_slot = false;
}

void budget_fork_child(void)
{
	state.has_slot = false;
	state.own_ns = state.cpu_ns = state.dumps_ns = 0;
}

void budget_put_status(struct text *text)
{
	if (!budget_is_running())
		return;
	text_put_key_u64(text, "budget_ppm", state.budget);
	text_put_key_u64(text, "budget_share_ppm", pace_share(&state.pace, state.budget));
	text_put_key_u64(text, "budget_cost_ppm", pace_cost(&state.pace));
	text_put_key_u64(text, "budget_window", gate_is_on());
}
