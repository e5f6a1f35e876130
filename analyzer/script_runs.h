/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of each run on crowded CPUs was running: part of the compilation of a script.
 *
 * A zeroed struct is empty. One thread.
 */
#ifndef WCPROF_SCRIPT_RUNS_H
#define WCPROF_SCRIPT_RUNS_H

#include "script.h"

struct crowded_run {
	uint64_t wall_ns;
	uint32_t step;
	uint32_t key; /* runs of one key do the same */
};

/* Runs between two samples of one thread. */
struct stretch {
	uint64_t cpu_ns;
	uint32_t first; /* run */
	uint32_t end;
};

struct script_runs {
	struct crowded_run *runs;
	size_t run_count;
	size_t run_capacity;
	struct stretch *stretches;
	size_t stretch_count;
	size_t stretch_capacity;
};

/* The step took so long by the clock. Its key is to be set before the cut. */
void script_runs_add(struct script_runs *, uint32_t step, uint64_t wall_ns);

/* The runs added since the last stretch used so much CPU time; UINT64_MAX = not known. */
void script_runs_end_stretch(struct script_runs *, uint64_t cpu_ns);

/* The script ends before this step after all. */
void script_runs_drop(struct script_runs *, size_t step_count);

/* Cuts the steps to the CPU time that they used. */
void script_runs_cut(struct script_runs *, struct step *steps);

void script_runs_free(struct script_runs *);

#endif
