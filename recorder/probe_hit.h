/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that are hit: the op of each call of a probed function, or of each time when a thread
 * comes by a place.
 *
 * Runs on the program's threads, between two of their instructions. Nothing here touches vector
 * registers, nor what it calls: see vectors.h. An op is an entry on its thread, as those of hooks
 * are; if the function never returns (longjmp), a later call heals that. If it is left by an
 * exception or a cancellation, the unwinder says so.
 */
#ifndef WCPROF_PROBE_HIT_H
#define WCPROF_PROBE_HIT_H

#include "arena.h"
#include "probe_eval.h"
#include "probe_lengths.h"
#include "probe_order.h"

enum {
	PROBES_MAX = 256,          /* places that are ever probed in a process */
	PROBE_OWN_STRIPES = 32,    /* a thread's own counts, by its slot in the roster */
	PROBE_STRIPES = 48,        /* those behind are shared by all other threads */
	PROBE_VALUES_SLOTS = 1024, /* of the roster; threads beyond have no values */
};

/* On the stack, written by probe_through.S. The last register, and what follows, is there until the
 * function returns. At a place within a function there are PROBE_RED_ZONE bytes of its own above,
 * and flags where `moved` is. */
struct probe_stack {
	/* By their numbers in DWARF; of the last, see below. */
	uint64_t registers[PROBE_REGISTERS];
	uint64_t moved;   /* where the function goes on */
	uint64_t op;      /* 0: none was recorded */
	uint64_t values;  /* address of its struct probe_values; 0: there are none */
	uint64_t request; /* that must grow old enough: when it began, and its kind; 0: none.
			  * At a place within a function: where the stub goes on */
	uint64_t index;
	uint64_t rbp;    /* the caller's; its address stands for the call's frame */
	uint64_t caller; /* where the call returns to; the place */
};
enum { PROBE_RED_ZONE = 128 };

/* The control thread writes all but the name, before the probe is there; any thread that. */
struct probe {
	uint64_t moved;
	uint64_t address;              /* of the jump */
	uint64_t min_ticks;            /* any thread writes it while `lengths` are known */
	struct probe_lengths *lengths; /* NULL: min_ticks stays as it is */
	struct arena *arena;           /* that has the name; written last */
	uint32_t name;                 /* string id */
	uint32_t is_on;
	uint64_t until_ns;                 /* of its lease; 0: it has none */
	uint16_t reads_return;             /* some value is known only then */
	uint16_t reads_vectors;            /* some value is in one when the probe is hit */
	uint8_t flags;                     /* of its ops: FIELD_CHOSEN if it leaves calls out */
	uint32_t names[PROBE_FETCHES_MAX]; /* of its values; as `name` */
	struct condition when;             /* of its order */
	struct probe_order order;
};

enum probe_count {
	PROBE_CALLS,
	PROBE_BRIEF, /* of those: shorter than min_ns */
	PROBE_UNMET, /* of those: a condition did not hold, or is not known */
	PROBE_COUNTS
};

/* Of the innermost calls of a thread: what was read at the entry. */
struct probe_values {
	uint64_t op; /* 0: nobody's */
	struct probe_value values[PROBE_FETCHES_MAX];
};

struct probe_counts {
	_Alignas(64) uint64_t of[PROBE_COUNTS];
};

struct probe_counters {
	struct probe_counts counts[PROBES_MAX][PROBE_STRIPES];
};

extern struct probe *probe_table HIDDEN; /* [PROBES_MAX] */
/* [PROBE_VALUES_SLOTS][SLOT_ENTRIES]; NULL until a probe reads values. */
extern struct probe_values *probe_values HIDDEN;
extern struct probe_counters *probe_counters HIDDEN; /* there when the table is */

/* Of all threads. */
uint64_t probe_hits(uint32_t index, enum probe_count) HIDDEN;

/* Called by probe_through.S alone. */
void probe_enter(struct probe_stack *) HIDDEN;
void probe_leave(struct probe_stack *) HIDDEN;
void probe_come_by(struct probe_stack *) HIDDEN;

/* probe_through.S: where entries lead, and places within functions, and where probed functions
 * return to. */
extern const char probe_through[] HIDDEN;
extern const char probe_moment[] HIDDEN;
extern const char probe_through_returns[] HIDDEN;

#endif
