/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a CPU each thread of a process has, and waits for, by the kernel's own count. One
 * thread.
 */
#ifndef WCPROF_TOP_CPU_H
#define WCPROF_TOP_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct top_cpu_thread {
	pid_t tid;
	char name[32];
	uint64_t run_ns; /* in its life */
	uint64_t queued_ns;
	double run; /* CPUs, since the look before */
	double queued;
};

struct top_cpu {
	struct top_cpu_thread *threads; /* by tid */
	size_t count;
	uint64_t at_ns;
	double run; /* of all */
	double queued;
};

/* Looks again, but not at the recorder's own thread. False: there is no such process any more; what
 * was there stays. */
bool top_cpu_look(struct top_cpu *, pid_t pid);
/* Of a process that has ended: none of its threads runs or waits for a CPU. */
void top_cpu_stop(struct top_cpu *);
void top_cpu_free(struct top_cpu *);
/* NULL: there is none. */
const struct top_cpu_thread *top_cpu_find(const struct top_cpu *, pid_t tid);

#endif
