/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blind spots of a recording: children without a recording, code that goes past the hooks, time
 * off the CPUs that no event explains.
 */
#ifndef WCPROF_COVERAGE_H
#define WCPROF_COVERAGE_H

#include "recording/classes.h"
#include "recording/recording.h"
#include "threadtime.h"

/* A count for one name: children of a program, system calls of a module. */
struct coverage_count {
	uint32_t name; /* string id */
	uint64_t count;
};

struct coverage {
	uint64_t children;             /* processes that were started, as far as it is known */
	struct coverage_count *absent; /* those that left no recording, most first */
	size_t absent_count;
	struct coverage_count *inlined; /* modules with system calls of their own, likewise */
	size_t inlined_count;
	uint64_t modules, modules_seen; /* how many there are, and were looked at */
	uint64_t voluntary_switches;    /* as the kernel counted: of all processes */
	uint64_t involuntary_switches;
	uint64_t blocking_events; /* waits, and ops that may block */
	uint64_t off_cpu_ns;      /* of all threads, without waiting for a CPU */
	uint64_t unexplained_ns;  /* of that: in no event */
};

void coverage_build(struct coverage *coverage, const struct recording *recording,
		    const struct class_table *classes, const struct thread_table *threads);
void coverage_free(struct coverage *coverage);

#endif
