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
	uint32_t sleeps;
	uint64_t slept_ns;
	bool is_mixed; /* calls used the CPU, too */
};

struct script_runs {
	struct crowded_run *runs;
	size_t run_count;
	size_t run_capacity;
	struct stretch *stretches;
	size_t stretch_count;
	size_t stretch_capacity;
	uint32_t sleeps; /* these three: since the last stretch */
	uint64_t slept_ns;
	bool is_mixed;
	size_t thread_stretch; /* the first one of the thread */
};

/* The step took so long by the clock. Its key is to be set before the cut. */
void script_runs_add(struct script_runs *, uint32_t step, uint64_t wall_ns);

/* The thread slept so long, until another woke it. */
void script_runs_slept(struct script_runs *, uint64_t slept_ns);

/* Time went by in a call that is no run. */
void script_runs_called(struct script_runs *);

/* The runs added since the last stretch used so much CPU time; UINT64_MAX = not known. */
void script_runs_end_stretch(struct script_runs *, uint64_t cpu_ns);

/* The thread's last stretch has ended. It waited for CPUs for so long at most: for more of its time
 * off the CPUs there is another reason, and that stays. */
void script_runs_end_thread(struct script_runs *, double queued_ns);

/* The script ends before this step after all. */
void script_runs_drop(struct script_runs *, size_t step_count);

/* CPU time that a thread uses each time it goes to sleep and comes back, while CPUs are busy; 0 =
 * not known. */
uint64_t script_runs_sleep_ns(const struct script_runs *);

/* Cuts the steps to the CPU time that they used; their sleeps used so much each. */
void script_runs_cut(struct script_runs *, struct step *steps, uint64_t sleep_ns);

/* After the cut, and before anything else changes the steps. Takes what each thread waited for CPUs
 * in its runs away from `queued_ns`, by thread. Returns how much all have waited. */
uint64_t script_runs_take(const struct script_runs *, const struct script *, uint64_t *queued_ns);
void script_runs_free(struct script_runs *);

#endif
