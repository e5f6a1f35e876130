/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actors of a simulation in the order in which a stall lets them go on. Private to the simulation.
 * One thread a simulation.
 */
#ifndef WCPROF_SIMULATE_STALLS_H
#define WCPROF_SIMULATE_STALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In a stall these go on first, from the first to the last. */
enum stalled_rank { STALLED_TRYING, STALLED_WAITING, STALLED_JOINING, STALLED_TO_START };

struct stalled {
	uint64_t now_ns; /* its own: the earliest of its rank comes first */
	uint32_t actor;
	enum stalled_rank rank;
};

/* Actors that have not finished, kept from one stall to the next. */
struct stalls {
	struct stalled *heap; /* as of the last stall: of all that have not finished, or retired */
	size_t count;
	uint32_t *place; /* by actor: in the heap, NO_INDEX = it is not there */
	uint32_t *moved; /* actors that had a turn since; each once */
	size_t moved_count;
	size_t unfinished;   /* actors that count */
	uint64_t latest_ns;  /* of all that came to the last stall */
	bool is_source_done; /* one of jobs, since the last stall */
};

#endif
