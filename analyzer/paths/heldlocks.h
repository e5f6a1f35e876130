/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that somebody waited for, over time: at each moment, from where the lock was taken that
 * a thread had then.
 *
 * Of several readers the first to have it counts. While nobody has a lock, whoever waits for it is
 * waking up. Built once, read-only afterwards.
 */
#ifndef WCPROF_HELDLOCKS_H
#define WCPROF_HELDLOCKS_H

#include "lanes.h"
#include "requestpaths.h"

struct held_locks {
	struct lanes lanes; /* a lane a lock; keys are numbers of parts */
	uint32_t *lane_of;  /* by wait: the lock's lane, NO_INDEX = it is for no lock */
	uint32_t *part_of;  /* by lane: it is not known from where the lock was taken */
};

void held_locks_build(struct held_locks *locks, struct path_parts *parts,
		      const struct request_paths_of *of);
void held_locks_free(struct held_locks *locks);

#endif
