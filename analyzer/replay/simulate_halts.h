/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actors that halt others (infer/halts.h). Private to the simulation. One thread a simulation.
 */
#ifndef WCPROF_SIMULATE_HALTS_H
#define WCPROF_SIMULATE_HALTS_H

#include <stdbool.h>
#include <stdint.h>

#include "agenda.h"

struct simulation;

/* Of an actor. */
struct player_halt {
	uint64_t late_ns; /* by halts that are over, in its last run */
	uint32_t number;  /* 1 + the halt that it is in; 0 = none */
	bool ran_on;      /* it was on a CPU, or on the way to one, as that began */
};

void simulate_halts_make(struct simulation *);
void simulate_halts_free(struct simulation *);
void simulate_halts_reset(struct simulation *);

/* The actor halts those that this signal lets go on, and gives that signal. */
void simulate_halt(struct simulation *, uint32_t link, uint32_t actor);
void simulate_halt_ends(struct simulation *, uint32_t link, uint32_t actor);

/* The actor's turn has come. True: it sleeps, as it is halted, or goes on later. */
bool simulate_is_halted(struct simulation *, struct turn);

#endif
