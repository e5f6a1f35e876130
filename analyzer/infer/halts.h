/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that halt others for as long as they work, as a garbage collector stops the world.
 *
 * A thread that is halted waits where it happens to be, and not for anything that it needs. In
 * another replay it is halted elsewhere, or comes by before. Built once, read-only afterwards.
 */
#ifndef WCPROF_HALTS_H
#define WCPROF_HALTS_H

#include "meetings.h"
#include "monitors.h"

struct halted {
	uint32_t thread;
	uint64_t ran_on_ns;  /* from the halt's begin until it waited */
	uint64_t latency_ns; /* from the signal to its return */
};

struct halt {
	uint64_t begin_ns; /* its thread comes from its sleep, to halt others */
	uint32_t thread;
	uint32_t link;  /* the signal that lets them go on */
	uint32_t first; /* in halted */
	uint32_t count;
};

struct halts {
	struct halt *halts; /* by thread, then time */
	size_t count;
	struct halted *halted;
	size_t halted_count;
	uint32_t *of_link; /* by link index: the halt that it ends, NO_INDEX = none */
	bool *is_halted;   /* by wait index: the thread was halted */
};

/* A thread that comes to a meeting waits for the others, and is not halted. */
void halts_build(struct halts *, const struct recording *, const struct timeline *,
		 const struct monitors *, const struct meetings *);
void halts_free(struct halts *);

#endif
