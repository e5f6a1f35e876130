/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that are hit: the op of each call of a probed function.
 *
 * Runs on the program's threads, between a call and the function. Nothing here touches vector
 * registers, nor what it calls: see vectors.h. An op is an entry on its thread, as those of hooks
 * are; if the function never returns (longjmp), a later call heals that. If it is left by an
 * exception or a cancellation, the unwinder says so.
 */
#ifndef WCPROF_PROBE_HIT_H
#define WCPROF_PROBE_HIT_H

#include "arena.h"
#include "probe_order.h"

enum {
	PROBES_MAX = 256,  /* functions that are ever probed in a process */
	PROBE_STRIPES = 16 /* threads add to counts of their own, as far as that goes */
};

/* On the stack, written by probe_through.S: `start` and what follows is there until the function
 * returns. */
struct probe_stack {
	uint64_t registers[PROBE_REGISTERS - 1]; /* by their numbers in DWARF */
	uint64_t start;                          /* ticks */
	uint64_t moved;                          /* where the function goes on */
	uint64_t op;                             /* 0: none was recorded */
	uint64_t index;
	uint64_t rbp; /* the caller's; its address stands for the call's frame */
	uint64_t caller;
};

/* The control thread writes all but the name, before the probe is there; any thread that. */
struct probe {
	uint64_t moved;
	uint64_t address; /* of the function */
	uint64_t min_ticks;
	struct arena *arena; /* that has the name; written last */
	uint32_t name;       /* string id */
	uint32_t is_on;
	struct probe_order order;
};

struct probe_counts {
	_Alignas(64) uint64_t calls;
	uint64_t brief; /* of those: shorter than min_ns */
};

struct probe_counters {
	struct probe_counts counts[PROBES_MAX][PROBE_STRIPES];
};

extern struct probe *probe_table HIDDEN;             /* [PROBES_MAX] */
extern struct probe_counters *probe_counters HIDDEN; /* there when the table is */

/* Called by probe_through.S alone. */
void probe_enter(struct probe_stack *) HIDDEN;
void probe_leave(struct probe_stack *) HIDDEN;

/* probe_through.S: where entries lead, and where probed functions return to. */
extern const char probe_through[] HIDDEN;
extern const char probe_through_returns[] HIDDEN;

#endif
