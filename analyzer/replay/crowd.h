/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finite CPUs, shared equally: each of n runnable actors gets min(1, CPUs / n) of one.
 *
 * Processor sharing by virtual time (Kleinrock, Queueing Systems 2, 4.4). Virtual time advances at
 * the rate at which each actor is served. So an actor's end in virtual time never changes once it
 * is in. One thread; each simulation has its own.
 */
#ifndef WCPROF_CROWD_H
#define WCPROF_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crowd_entry {
	double end;     /* in virtual nanoseconds */
	uint64_t order; /* of equal ends, first come first served */
	uint32_t actor;
};

struct crowd {
	struct crowd_entry *heap; /* room for all actors */
	size_t count;
	double cpus;
	double virtual_ns;
	uint64_t now_ns;
	uint64_t next_ns; /* when the first one has run what it had to; UINT64_MAX = nobody is in */
	uint64_t order;
};

void crowd_reset(struct crowd *, double cpus);

/* At now_ns, not before any earlier call's: this actor has so much to run. */
void crowd_enter(struct crowd *, uint64_t now_ns, uint32_t actor, uint64_t run_ns);

/* When the next one has run what it had to; UINT64_MAX when nobody is in. */
static inline uint64_t crowd_next_ns(const struct crowd *crowd)
{
	return crowd->next_ns;
}

/* Takes it out, at crowd_next_ns(). */
uint32_t crowd_leave(struct crowd *);

/*
 * Enters at *now_ns and leaves, where the actor has a CPU of its own meanwhile: nobody else leaves
 * before, and the run ends by until_ns. Its end goes to *now_ns. False: nothing has happened.
 */
bool crowd_run(struct crowd *, uint64_t *now_ns, uint64_t run_ns, uint64_t until_ns);

#endif
