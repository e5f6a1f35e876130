/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The age of events where the last seconds alone are kept (WCPROF_KEEP_S, or SET keep_s), or asked
 * for (DUMP last_ms).
 *
 * Events that ended before that are in no dump, and their window begins then. Chunks that have no
 * others are emptied now and then, so that their memory is used again or goes back.
 */
#ifndef WCPROF_AGE_H
#define WCPROF_AGE_H

#include "chunk.h"
#include "snapshot.h"

/* The time before which events are too old, when it is now; 0 = none are. */
uint64_t age_limit(const struct arena *, uint64_t now_ticks, uint64_t rate) HIDDEN;

/* Drainer. Takes what is too old out of a snapshot; also, if `last_ns` is not 0, what ended longer
 * ago than that. */
void age_leave_out(struct snapshot *, const struct arena *, uint64_t last_ns) HIDDEN;

/* Drainer. Whether records of a chunk, between these extents of it, may be too old: the first one
 * is. Then they are looked at one by one. */
bool age_is_mixed(struct snapshot *, const struct chunk *, uint32_t begin, uint32_t end) HIDDEN;

/* Drainer. Empties chunks that have nothing younger. How many. */
uint32_t age_empty(struct arena *, uint64_t limit_ticks) HIDDEN;
/* The control thread's: whether that is to be done now. */
bool age_is_due(const struct arena *, uint64_t now_ns) HIDDEN;

#endif
