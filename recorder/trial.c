/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trial of a client. See trial.h.
 *
 * However it ends, the program is as before. Nothing takes longer, recording is off, the settings
 * are what they were, and the trial's events are gone. Those cannot be discarded while a dump is
 * being written, for another client perhaps: then that comes at a later tick.
 */
#include "trial.h"

#include <errno.h>
#include <stddef.h>

#include "arena.h"
#include "budget.h"
#include "clock.h"
#include "gate.h"
#include "options.h"
#include "settings.h"
#include "slow.h"
#include "snapshot.h"
#include "switch.h"

#include "in_target.h"

static struct {
	const struct client *client; /* NULL: there is none */
	uint64_t until_ns;
	bool is_to_discard; /* its events are there yet */
	bool is_to_restore; /* in a forked child: the settings are the trial's */
	struct options before;
} trial;

static void discard(void)
{
	trial.is_to_discard = snapshot_reset(load_acquire(&recorder_arena)) != 0;
}

int trial_begin(const struct client *client, uint64_t most_ms)
{
	if (trial.client)
		return -EBUSY;
	if (load_relaxed(&recorder_gate.mode) == GATE_ON || gate_is_on() || budget_is_running() ||
	    ops_may_take_longer())
		return -EALREADY;
	trial.client = client;
	trial.until_ns = clock_mono_ns() + most_ms * 1000000;
	trial.before = recorder_options;
	return 0;
}

bool trial_is_on(void)
{
	return trial.client != NULL;
}

bool trial_is_of(const struct client *client)
{
	return trial.client == client;
}

uint64_t trial_left_ns(void)
{
	uint64_t now_ns = clock_mono_ns();

	return trial.client && now_ns < trial.until_ns ? trial.until_ns - now_ns : 0;
}

static void end(void)
{
	slow_clear();
	budget_end();
	switch_disable();
	settings_restore(&trial.before);
	/* Last: a child that is forked meanwhile is the trial's yet. */
	trial.client = NULL;
	discard();
}

void trial_closes(const struct client *client)
{
	if (trial.client == client)
		end();
}

bool trial_tick(uint64_t now_ns)
{
	if (trial.client && now_ns >= trial.until_ns)
		end();
	if (trial.is_to_discard && !trial.client)
		discard();
	return trial.client || trial.is_to_discard;
}

/* Events that a dump still holds up are left to the new recording. */
void trial_recording_begins(void)
{
	if (trial.is_to_discard && !trial.client)
		discard();
	trial.is_to_discard = false;
}

void trial_forget(void)
{
	trial.is_to_restore = trial.is_to_restore || trial.client;
	trial.client = NULL;
	trial.is_to_discard = false;
}

void trial_settle(void)
{
	if (trial.is_to_restore)
		settings_restore(&trial.before);
	trial.is_to_restore = false;
}
