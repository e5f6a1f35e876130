/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of a process in its arena, other than of events. Data only, as in format.h, whose
 * version goes up with any change.
 */
#ifndef WCPROF_TALLIES_H
#define WCPROF_TALLIES_H

#include <stdint.h>

#include "clockplaces.h"

/* Counts of the kernel's for a process (usage.h). */
struct usage {
	uint64_t cpu_ns;
	uint64_t voluntary_switches;
	uint64_t involuntary_switches;
};

/* By how long the CPUs of the process were idle until then, all together (idle.h). */
struct idle_entry {
	uint64_t ticks;
	uint64_t idle_ns;
};

enum { IDLES_MAX = 256, IDLE_CPUS_MAX = 1024 };

/* The cost of recording to a thread (owncost.h). */
struct thread_cost {
	uint64_t events;         /* that it wrote to chunks which it has left */
	uint64_t metered_ticks;  /* inside the recorder, by its meter (meter.h) */
	uint64_t metered_events; /* in those */
	uint64_t short_ticks;    /* of short slow paths, outside others */
	uint64_t slow_ns;        /* CPU time of slow paths */
};

/* The same of all threads, and of the control thread. */
struct process_cost {
	struct thread_cost threads;
	uint64_t control_ns; /* CPU time of the control thread */
	uint64_t dumps_ns;   /* of that, for dumps */
	uint64_t start_ns;   /* slow paths until its first thread had begun; 0 = none has */
};

/* The budget of recording (budget.h). */
struct budget_tally {
	uint64_t budget;      /* millionths of the CPU time; 0 = there was none */
	uint64_t begun_ticks; /* from when to when recording went on and off by it */
	uint64_t ended_ticks; /* 0 = it goes on */
	uint64_t cost;        /* while recording was on: millionths of the CPU time, as of late */
};

/* The trace ids that a thread has recorded last (context.h). */
struct thread_context {
	uint64_t ids[3];   /* 0 = none */
	uint32_t chunk;    /* where: as the slot's `chunk`, */
	uint32_t position; /* how far that was written, */
	uint32_t dump;     /* and how many dumps had been handed out */
	uint32_t is_said;  /* 1 = by wcprof_trace() */
};

#endif
