/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that is open at one moment: on threads, among the handles, and children that nobody has
 * waited for.
 *
 * In two steps, between which it is noted how far each chunk is published (snapshot.c). All that is
 * open is copied, and then taken away again if its record is among those that were published. A
 * thread publishes a record, clears its entry, and only then goes on to another record. So an op
 * that is in neither of the two places was in none to begin with. Drainer only.
 */
#ifndef WCPROF_OPENS_H
#define WCPROF_OPENS_H

#include "snapshot.h"

/* How many there may be, with so many slots of threads. */
static inline uint64_t opens_most(uint32_t slots)
{
	return (uint64_t)slots * SLOT_ENTRIES + HANDLES_MAX + WATCHES_MAX;
}

void opens_copy(struct snapshot *, const struct arena *, uint32_t slots) HIDDEN;
void opens_drop_ended(struct snapshot *, const struct arena *, uint32_t slots) HIDDEN;

#endif
