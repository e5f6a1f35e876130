/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts probes into code that runs, and takes them out.
 *
 * The first five bytes of a function become a jump, by one store of 16 bytes that compares. Threads
 * see the old bytes or the new ones. A thread that is just between two of the old instructions goes
 * on inside the jump. The jump's distance has bytes there that trap (probe_traps.h). Taking a probe
 * out finds no thread there, as a jump is one instruction.
 *
 * The moved instructions stay where they are, for ever: threads may be inside.
 *
 * A probe may have a lease, as recording may (lease.h). It goes by itself when nobody renews that:
 * whoever put it in may have been killed.
 *
 * The control thread only.
 */
#ifndef WCPROF_PROBE_PATCH_H
#define WCPROF_PROBE_PATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "probe_hit.h"

/* Whether the struct is one, and all of it within bounds. */
bool probe_order_is_valid(const struct probe_order *) HIDDEN;
/* NULL: the probe is there, until then by the monotonic clock; 0 = until it is removed. Else the
 * reason why it is not, as a sentence's end; nothing has changed. */
const char *probe_add(const struct probe_order *, uint64_t until_ns) HIDDEN;
/* Those with that name, or all if it is empty; how many there were. */
uint32_t probe_remove(const char *name, uint32_t bytes) HIDDEN;
uint32_t probe_count(void) HIDDEN;
/* No lease ends sooner. */
void probe_lease_renew(uint64_t until_ns) HIDDEN;
/* Removes those whose lease is over. In how many ms the next one ends; -1 = there is none. */
int probe_lease_tick(uint64_t now_ns) HIDDEN;
/* The thread is about to end: nobody would remove those that have a lease. */
void probe_lease_leave(void) HIDDEN;
/* Places that were ever probed: the first ones of probe_table. Any thread. */
uint32_t probe_places(void) HIDDEN;

#endif
