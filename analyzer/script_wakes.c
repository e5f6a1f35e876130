/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to wake somebody: a signal for which nobody sleeps is a few instructions, one that
 * lets a sleeper go is a system call, and maybe another CPU's interrupt.
 *
 * Method. Whether a signal finds a sleeper is the replay's to find out. What a thread runs after a
 * signal that woke nobody in the recording is what it costs to wake nobody: if the replay's signal
 * wakes somebody, STEP_WAKING runs as much more as is usual after those that did. Those keep what
 * they took, whether they wake somebody or not: it differs with where the sleeper goes on, and
 * a replay in which fewer sleep is too long rather than too short. Both sorts must have been seen
 * often enough.
 *
 * Only where a signal is the hand-over itself, and wakes one: of a broadcast the cost goes with how
 * many slept. One thread.
 */
#include "memory.h"
#include "percentile.h"
#include "script_parts.h"

#include <stdlib.h>

/* Of each sort: fewer say nothing about what is usual. */
enum { SIGNALS_LEAST = 8 };

bool script_wake_costs(const struct script *script, uint32_t link)
{
	const struct signal_role *role = &script->monitors.signals[link];

	return role->condition != NO_INDEX && !role->wakes_all && !role->is_gate &&
	       script->monitors.conditions[role->condition].model == PUT_BY_SIGNAL;
}

/* The runs after signals. */
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
	return percentile_select(runs->ns, runs->count, runs->count / 2);
}

static uint64_t run_after_ns(const struct script *script, size_t waking)
{
	const struct step *step = &script->steps[waking + 1];

	return step->type == STEP_RUN ? step->ns : 0;
}

static bool is_waking(const struct script *script, size_t step)
{
	return step && script->steps[step].type == STEP_WAKING;
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

void script_wakes_find(struct script *script)
{
	struct runs_after after[2] = { { 0 } }; /* signals that woke nobody, somebody */
	bool *woke = links_that_woke(script);

	for (size_t i = 0; i < script->step_count; i++) {
		if (!is_waking(script, i))
			continue;
		add(&after[woke[script->steps[i - 1].arg]], run_after_ns(script, i));
	}
	uint64_t more_ns = 0;
	if (after[false].count >= SIGNALS_LEAST && after[true].count >= SIGNALS_LEAST) {
		uint64_t quiet_ns = usual_ns(&after[false]), waking_ns = usual_ns(&after[true]);

		more_ns = waking_ns > quiet_ns ? waking_ns - quiet_ns : 0;
	}
	for (size_t i = 0; i < script->step_count; i++)
		if (is_waking(script, i) && !woke[script->steps[i - 1].arg])
			script->steps[i].ns = more_ns;
	free(after[false].ns);
	free(after[true].ns);
	free(woke);
}
