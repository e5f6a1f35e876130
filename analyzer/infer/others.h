/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU time of other programs while the recording was made: all that was not idle, less that of
 * the recorded threads.
 *
 * A value, read-only once it is made.
 */
#ifndef WCPROF_OTHERS_H
#define WCPROF_OTHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

/* The CPUs that others used, from the end of the window before on. */
struct others_window {
	uint64_t end_ns;
	double cpus;
};

/* On the CPUs of one kernel. */
struct others_there {
	uint64_t start_ns;
	struct others_window *windows;
	size_t window_count;
	double cpus; /* on average */
	/* They are replayed as so many strangers. The first uses a CPU as far as others did,
	 * the next what is left over, and so on. */
	uint32_t stranger_count;
};

struct others {
	struct others_there *there; /* by kernel */
	size_t kernel_count;
	double cpus; /* on average, of all kernels together */
	uint32_t stranger_count;
	/* How much they are in the way of recorded threads. Up to 1: they use only that part of
	 * it; above: each weighs as so many recorded threads. */
	double pressure;
	bool is_known; /* of each kernel */
};

/* Beside recorded threads on each kernel's CPUs; `startup_ns` as startup.h has it. Unknown where
 * the recording does not say when CPUs were idle. */
void others_find(struct others *, const struct recording *, const uint64_t *startup_ns,
		 const double *kernel_cpus, size_t kernel_count);
void others_free(struct others *);

/* Of so many CPUs, those that a stranger has. */
static inline double others_part(double cpus, uint32_t stranger)
{
	return cpus < stranger ? 0 : cpus > stranger + 1.0 ? 1 : cpus - stranger;
}

#endif
