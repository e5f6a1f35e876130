/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorded run as straight-line code over clocks, good for every hypothesis.
 *
 * The replay in recorded order decides nothing by simulated time. Which op runs when, which wait
 * joins what, and where a circle is broken follow from the recording alone. So the whole replay is
 * one sequence of instructions over slots. Each slot is the clock of an op: its simulated start,
 * then its progress, then its finish. A hypothesis only changes by how much the RUN instructions of
 * one class advance a clock.
 *
 * Regions make it fast. A region is a stretch of code that advances one slot, its own. Values that
 * it reads from before are its imports. A region without a RUN of the class is skipped
 * in one step, if its imports are as far from its slot as recorded. For then everything in it is
 * shifted in time and nothing else. Its own slot advances by its duration. The slots that are read
 * after it (its exports) are put where they belong. A plain region only adds, so that there only
 * the RUNs of the class need a look. So a hypothesis costs about as much as what it changes.
 *
 * Times are simulated nanoseconds in doubles, which are exact up to 2^53 ns (104 days).
 * Compiled once by program_compile, read-only afterwards: any number of threads may run it.
 */
#ifndef WCPROF_PROGRAM_H
#define WCPROF_PROGRAM_H

#include "recording/classes.h"
#include "recording/graph.h"

enum instr_what {
	INSTR_COPY,  /* slot = slot[operand] */
	INSTR_ADD,   /* slot += operand ns */
	INSTR_RUN,   /* slot += operand ns, scaled under a hypothesis about its class */
	INSTR_MAX,   /* slot = max(slot, slot[operand]) */
	INSTR_FIRST, /* slot = slot[operand] if that is smaller, or if slot is negative */
	INSTR_WIDE,  /* as ADD or RUN, by constants[operand] */
	INSTR_SET,   /* slot = constants[operand] */
	INSTR_ENTER  /* regions[operand] begins, which advances slot */
};

enum {
	PROGRAM_VALUES_MAX = 1 << 28, /* ops that an instruction can name */
	REGION_NEVER = UINT32_MAX,    /* the end of a region that must not be skipped */
	RUNS_END = UINT32_MAX - 1     /* ends a class's list of runs: after every region's end */
};

struct instr {
	uint32_t what : 4;
	uint32_t slot : 28; /* while compiling: op index, then values of the compiler's own */
	uint32_t operand;
};

_Static_assert(sizeof(struct instr) == 8, "eight instructions to a cache line");

struct region {
	uint32_t end;          /* first instruction after it, REGION_NEVER = not to be skipped */
	uint32_t first_import; /* into edges: imports up to first_export */
	uint32_t first_export; /* exports up to end_export */
	uint32_t end_export;
	bool is_plain; /* it adds to its own slot, and that is all */
	double duration_ns;
	double first_ns; /* of what its FIRST instructions read, the earliest; infinite = none */
};

/* A slot at a region's edge. Times are from the region's own slot as it was at its begin. */
struct region_edge {
	uint32_t slot;
	double offset_ns;
};

struct program {
	struct instr *code;
	uint32_t instr_count;
	struct region *regions;
	uint32_t region_count;
	struct region_edge *edges;
	double *constants;
	uint32_t slot_count;
	uint32_t start_slot; /* in the end: simulated start of the root that starts first, see
				program.c */
	uint32_t end_slot;   /* in the end: latest finish of a root */
	uint32_t class_count;
	uint32_t *first_run; /* per class: into runs */
	uint32_t *runs;      /* class by class: instructions that are its RUNs, each list ends with
				RUNS_END */
	double baseline_ns;  /* makespan with nothing scaled */
	uint64_t broken_cycles;    /* joins of an op that was itself waiting for the joining one */
	uint64_t fallback_anchors; /* ops placed by recorded time because nothing started them in
				      time */
};

/* Both inputs may go away afterwards. */
void program_compile(struct program *program, const struct graph *graph,
		     const struct class_table *classes);
void program_free(struct program *program);

#endif
