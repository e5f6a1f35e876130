/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler: a CPU timer for each thread of the process, whose signal sample.c answers.
 *
 * A timer counts the CPU time of its thread, so a thread that is blocked gets no signal. Belongs to
 * the control thread, but for sampler_set_rate() and sampler_forget().
 */
#ifndef WCPROF_SAMPLER_H
#define WCPROF_SAMPLER_H

#include "recorder.h"
#include "text.h"

enum {
	SAMPLER_HZ_MAX = 1000,
	/* How often threads are looked for that did not say that they begin. */
	SAMPLER_TICK_MS = 50
};

/* Samples of each second of CPU time; 0 = none. Takes effect at the next tick. */
void sampler_set_rate(uint32_t hz) HIDDEN;
/* Starts, goes on or stops as is wanted; whether it wants another tick. */
bool sampler_tick(bool is_recording, uint64_t now_ns) HIDDEN;
/* In a forked child: the timers are the parent's. */
void sampler_forget(void) HIDDEN;
/* Adds what it does, as members of a JSON object, each after a comma. */
void sampler_put_status(struct text *) HIDDEN;

#endif
