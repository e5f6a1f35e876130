/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of waking a thread: a signal for which none sleeps is a few instructions. One that lets
 * a sleeper go is a system call, and maybe another CPU's interrupt. The same holds for a write to a
 * pipe or socket whose reader waits.
 *
 * Method. STEP_WAKING runs only if the replay finds somebody asleep. The run after a signal, or in
 * a call that writes, is the cost of waking nobody if it woke nobody in the recording. STEP_WAKING
 * then takes as much more as is usual of the runs that woke somebody. If the run woke somebody:
 * what exceeds the median of runs that woke nobody becomes STEP_WAKING. Both sorts must have been
 * seen often enough. Calls of each class are compared with each other: what a write to a socket
 * takes says nothing of one to a pipe.
 *
 * Only signals are looked at that are the hand-over itself, and wake one: the cost of a broadcast
 * goes with the number of sleepers. The run after a signal may be other work. It is known to be for
 * the waking only where the next step lets the lock go.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>

bool script_wake_costs(const struct script *script, uint32_t link)
{
	const struct signal_role *role = &script->monitors.signals[link];

	assert(link < script->recording->link_count);
	return role->condition != NO_INDEX && !role->wakes_all && !role->is_gate &&
	       script->monitors.conditions[role->condition].model == PUT_BY_SIGNAL;
}

/* The runs that woke somebody, or nobody. */
struct runs_after {
	uint64_t *ns;
	size_t count;
	size_t capacity;
};

static void add(struct runs_after *runs, uint64_t ns)
{
	runs->ns = memory_grow(runs->ns, &runs->capacity, runs->count + 1, sizeof(ns));
	runs->ns[runs->count++] = ns;
}

static uint64_t usual_ns(const struct runs_after *runs)
{
	assert(runs->count > 0);
	return percentile_select(runs->ns, runs->count, runs->count / 2);
}

/* By link: a wait was over by it. */
static bool *links_that_woke(const struct script *script)
{
	const struct recording *rec = script->recording;
	bool *woke = memory_new(rec->link_count, sizeof(*woke));

	for (size_t i = 0; i < rec->wait_count; i++)
		if (script->monitors.waking_link[i] != NO_INDEX)
			woke[script->monitors.waking_link[i]] = true;
	return woke;
}

/* Wakers that are compared with each other: all signals, or the calls of a class. */
enum { BY_SIGNAL, BY_CALL };

/* Somebody who may have woken another. */
struct waker {
	uint32_t run;  /* step that took as long as that takes, NO_INDEX = none at all */
	uint32_t sort; /* BY_SIGNAL, or BY_CALL + class */
	bool woke;
	bool is_timed; /* its length is known */
};

static bool is_step(const struct script *script, size_t step, enum step_type type)
{
	return step < script->step_count && script->steps[step].type == type;
}

/* The time of a call. */
static bool is_call(const struct script *script, uint32_t step)
{
	return is_step(script, step, STEP_RUN) || is_step(script, step, STEP_DELAY);
}

static bool is_waker(const struct script *script, uint32_t step)
{
	return (is_step(script, step, STEP_SIGNAL) && is_step(script, step + 1, STEP_WAKING)) ||
	       is_step(script, step, STEP_SEND);
}

/* The STEP_WAKING of this step; NO_INDEX = it has none. */
static uint32_t waking_of(const struct script *script, uint32_t step)
{
	if (is_step(script, step + 1, STEP_WAKING))
		return step + 1;
	if (is_step(script, step, STEP_SEND) && is_call(script, step + 1) &&
	    is_step(script, step + 2, STEP_WAKING))
		return step + 2;
	return NO_INDEX;
}

/* The step has a STEP_WAKING. */
static struct waker waker_of(const struct script *script, const bool *link_woke, uint32_t step)
{
	uint32_t arg = script->steps[step].arg;

	assert(is_waker(script, step));
	if (is_step(script, step, STEP_SEND)) {
		const struct transfer *transfer = &script->flows.transfers[arg];
		const struct step *waking = &script->steps[waking_of(script, step)];
		uint32_t class = script->scopes.scopes[waking->arg].leaf;
		bool runs = !transfer->has_waited && is_call(script, step + 1);

		return (struct waker){ runs ? step + 1 : NO_INDEX,
				       BY_CALL + (class == NO_INDEX ? script->class_count : class),
				       transfer->has_woken, runs };
	}
	bool runs = is_step(script, step + 2, STEP_RUN);

	return (struct waker){ runs ? step + 2 : NO_INDEX, BY_SIGNAL, link_woke[arg], true };
}

struct wake_cost {
	uint64_t quiet_ns; /* usual run that wakes nobody */
	uint64_t more_ns;  /* that one takes which does */
	bool is_known;
};

static struct wake_cost cost_of(struct runs_after after[2])
{
	if (after[false].count < assume.wakes || after[true].count < assume.wakes)
		return (struct wake_cost){ 0, 0, false };
	uint64_t quiet_ns = usual_ns(&after[false]), waking_ns = usual_ns(&after[true]);

	return (struct wake_cost){ quiet_ns, waking_ns > quiet_ns ? waking_ns - quiet_ns : 0,
				   true };
}

/* By sort; to be freed. */
static struct wake_cost *costs_find(const struct script *script, const bool *link_woke)
{
	size_t sorts = BY_CALL + script->class_count + 1;
	struct wake_cost *costs = memory_new(sorts, sizeof(*costs));
	struct runs_after(*after)[2] = memory_new(sorts, sizeof(*after));

	for (uint32_t i = 0; i < script->step_count; i++) {
		if (!is_waker(script, i) || waking_of(script, i) == NO_INDEX)
			continue;
		struct waker waker = waker_of(script, link_woke, i);
		if (waker.is_timed)
			add(&after[waker.sort][waker.woke],
			    waker.run == NO_INDEX ? 0 : script->steps[waker.run].ns);
	}
	for (size_t sort = 0; sort < sorts; sort++) {
		costs[sort] = cost_of(after[sort]);
		free(after[sort][false].ns);
		free(after[sort][true].ns);
	}
	free(after);
	return costs;
}

/* The cost of waking somebody is paid by the step that wakes somebody. */
static void move_cost(struct script *script, const struct waker *waker, struct step *waking,
		      uint64_t quiet_ns)
{
	struct step *run = &script->steps[waker->run];
	bool is_all = waker->sort != BY_SIGNAL || is_step(script, waker->run + 1, STEP_RELEASE);

	if (!is_all || run->ns <= quiet_ns)
		return;
	waking->ns = run->ns - quiet_ns;
	run->ns = quiet_ns;
}

void script_wakes_find(struct script *script)
{
	bool *link_woke = links_that_woke(script);
	struct wake_cost *costs = costs_find(script, link_woke);

	for (uint32_t i = 0; i < script->step_count; i++) {
		uint32_t waking = is_waker(script, i) ? waking_of(script, i) : NO_INDEX;

		if (waking == NO_INDEX)
			continue;
		struct waker waker = waker_of(script, link_woke, i);
		if (!costs[waker.sort].is_known)
			continue;
		if (!waker.woke)
			script->steps[waking].ns = costs[waker.sort].more_ns;
		else if (waker.run != NO_INDEX)
			move_cost(script, &waker, &script->steps[waking],
				  costs[waker.sort].quiet_ns);
	}
	free(costs);
	free(link_woke);
}
