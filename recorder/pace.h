/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pace of recording under a budget: which slots of time are recorded, and what share of them.
 *
 * Time is cut into slots by the monotonic clock, with edges and choices that a hash of the slot's
 * number gives. So all processes of a machine record at the same time, as far as their shares
 * agree. Whoever records more records the slots of the others, too.
 *
 * Pure functions of what they are given. Shares and costs are in millionths.
 */
#ifndef WCPROF_PACE_H
#define WCPROF_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

enum {
	PACE_WHOLE = 1000000,
	/* A slot lasts so long in the mean, from half of that to one and a half. */
	PACE_SLOT_NS = 1000000000,
	/* The cost of recording, until a slot has told: a fifth of the CPU time. */
	PACE_COST_FIRST = 200000,
	/* Of the budget: what is chosen by chance lies sometimes above. */
	PACE_AIM_PERCENT = 80,
	/* However dear recording is, so much is recorded: else nothing is learned. */
	PACE_SHARE_LEAST = 1000,
	/* With each slot a fraction of 1/32 of what is known is forgotten. */
	PACE_FORGETS = 32
};

/* The sums of slots that were recorded, the last ones most. */
struct pace {
	uint64_t own_ns; /* CPU time that recording took */
	uint64_t cpu_ns; /* CPU time of the process, that included */
};

struct pace_slot {
	uint64_t number;
	uint64_t end_ns; /* by the monotonic clock */
};

struct pace_slot pace_slot_at(uint64_t mono_ns) HIDDEN;
bool pace_records(uint64_t slot, uint64_t share) HIDDEN;

/* A slot that was recorded, or a part of it. */
void pace_learn(struct pace *, uint64_t own_ns, uint64_t cpu_ns) HIDDEN;
/* Of the CPU time, while recording is on. */
uint64_t pace_cost(const struct pace *) HIDDEN;
/* Of the time that may be recorded, if recording is to cost less than the budget. */
uint64_t pace_share(const struct pace *, uint64_t budget) HIDDEN;

#endif
