/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a request's path leaves its thread: waits for locks, joints, requests that a thread asked.
 *
 * A thread's breaks are in order of their ends, of equal ends the longest last. Built once,
 * read-only afterwards.
 */
#ifndef WCPROF_BREAKS_H
#define WCPROF_BREAKS_H

#include "heldlocks.h"
#include "joints.h"
#include "owners.h"

enum break_sort { BREAK_LOCK, BREAK_JOINT, BREAK_ASKED };

struct path_break {
	uint64_t start_ns;
	uint64_t end_ns; /* later than start_ns */
	uint32_t index;  /* of the lock's lane, the joint, the request */
	enum break_sort sort;
};

struct breaks {
	struct path_break *breaks; /* thread by thread */
	size_t *first;             /* thread t has breaks [first[t], first[t + 1]) */
};

void breaks_build(struct breaks *breaks, const struct request_paths_of *of,
		  const struct joints *joints, const struct owners *owners,
		  const struct held_locks *locks);
void breaks_free(struct breaks *breaks);

/* The index behind a thread's last break that ended by then. */
size_t breaks_until(const struct breaks *breaks, uint32_t thread, uint64_t at_ns);

#endif
