/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events to come of a simulation: actors in the order of their next turns.
 *
 * A binary heap. Of turns at the same time, the one that was added first is first. An actor has at
 * most one turn at a time, so an agenda never outgrows the number of actors. One thread; each
 * simulation has its own.
 */
#ifndef WCPROF_AGENDA_H
#define WCPROF_AGENDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct turn {
	uint64_t at_ns;
	uint64_t order; /* of equal times, first come first served */
	uint32_t actor;
};

struct agenda {
	struct turn *turns; /* each is no later than those at 2 i + 1 and 2 i + 2 */
	size_t count;
	size_t capacity;
	uint64_t order;
};

void agenda_make(struct agenda *, size_t actor_count);
void agenda_free(struct agenda *);
void agenda_clear(struct agenda *);

/* The actor has no turn yet. */
void agenda_add(struct agenda *, uint32_t actor, uint64_t at_ns);

/* The actor's turn, which it has, is off. */
void agenda_remove(struct agenda *, uint32_t actor);

/* The earliest turn; there must be one. */
struct turn agenda_take(struct agenda *);

/* The time of the earliest turn; UINT64_MAX = there is none. */
static inline uint64_t agenda_next_ns(const struct agenda *agenda)
{
	return agenda->count ? agenda->turns[0].at_ns : UINT64_MAX;
}

/* For tests: it is a heap. */
bool agenda_is_valid(const struct agenda *);

#endif
