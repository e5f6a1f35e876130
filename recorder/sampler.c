/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples on and off. See sampler.h.
 *
 * The threads are those in /proc/self/task, which knows them all. Its order is that of their
 * creation, so a thread is mostly found where it was. Their timers are those of timers.c.
 */
#include "sampler.h"

#include <assert.h>

#include "arena.h"
#include "atomics.h"
#include "claim.h"
#include "syscalls.h"
#include "tasks.h"
#include "timers.h"

#include "in_target.h"

enum sampler_state { SAMPLER_OFF, SAMPLER_ON, SAMPLER_REFUSED };

static uint32_t wanted_hz; /* written by the control thread and the constructor */

/* The control thread's own. */
static struct {
	uint32_t hz; /* of the timers that there are */
	uint64_t due_ns;
	enum sampler_state state;
} sampler;

static void thread_seen(uint32_t tid, void *expected)
{
	if (tid != (uint32_t)sys_gettid())
		timers_see(tid, expected);
}

static void scan(void)
{
	uint32_t expected = 0;

	timers_begin_round();
	if (tasks_see((uint32_t)sys_getpid(), thread_seen, &expected))
		timers_end_round();
}

static void stop(enum sampler_state state)
{
	timers_drop_samples();
	sampler.state = state;
	sampler.hz = 0;
}

static void change_rate(uint32_t hz)
{
	sampler.hz = hz;
	timers_set_rate(hz);
}

void sampler_set_rate(uint32_t hz)
{
	assert(hz <= SAMPLER_HZ_MAX);
	store_relaxed(&wanted_hz, hz);
}

/* Whether the signal is ours to send; the program may have taken it since. */
static bool may_sample(void)
{
	if (sampler.state == SAMPLER_OFF)
		sampler.state = claim_take() ? SAMPLER_ON : SAMPLER_REFUSED;
	else if (sampler.state == SAMPLER_ON && !claim_is_kept())
		stop(SAMPLER_REFUSED);
	if (sampler.state == SAMPLER_REFUSED && recorder_arena)
		claim_note(recorder_arena);
	return sampler.state == SAMPLER_ON;
}

bool sampler_tick(bool is_recording, uint64_t now_ns)
{
	uint32_t hz = load_relaxed(&wanted_hz);

	if (!is_recording || hz == 0) {
		if (sampler.state != SAMPLER_OFF)
			stop(SAMPLER_OFF);
		return false;
	}
	if (claim_is_ours() && hz == sampler.hz && now_ns < sampler.due_ns)
		return true;
	if (!may_sample())
		return false;
	change_rate(hz);
	scan();
	sampler.due_ns = now_ns + SAMPLER_TICK_MS * UINT64_C(1000000);
	return true;
}

void sampler_forget(void)
{
	sampler.hz = 0;
	sampler.state = SAMPLER_OFF;
}

void sampler_put_status(struct text *text)
{
	const char *refusal = claim_refusal();

	text_put_key(text, "sampling");
	if (sampler.state != SAMPLER_REFUSED || !refusal) {
		text_put(text, sampler.state == SAMPLER_ON ? "\"on\"" : "\"off\"");
	} else {
		text_put_literal(text, "\"refused: ");
		text_put(text, refusal);
		text_put_literal(text, "\"");
	}
	text_put_key_u64(text, "sample_hz", load_relaxed(&wanted_hz));
	text_put_key_u64(text, "sampled_threads", timers_count());
}
