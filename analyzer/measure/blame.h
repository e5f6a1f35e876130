/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Those who made others wait for locks: each nanosecond of a wait belongs to the hold of that
 * moment.
 *
 * Of several readers the last to let go counts. Time that belongs to no hold is a rest: nobody had
 * the lock while its waiter woke up, or the recording lacks the hold. All times of holds and rests
 * together are those of all waits for locks, exactly. Built once, read-only afterwards.
 */
#ifndef WCPROF_BLAME_H
#define WCPROF_BLAME_H

#include "recording/recording.h"

enum blame_sort {
	BLAME_FREE,   /* nobody had the lock */
	BLAME_UNKNOWN /* somebody whose hold is not recorded */
};

/* Of one lock; of one wait if it is not known for which. */
struct blame_rest {
	uint64_t ns;
	uint32_t waits; /* that no recorded hold ended */
	uint32_t wait;  /* one of those for the lock: it has its name */
	enum blame_sort sort;
};

struct blame {
	uint64_t *ns;    /* by op: others waited so long, while it was held */
	uint32_t *waits; /* by op: of so many waits it was the last hold */
	struct blame_rest *rests;
	size_t rest_count;
};

void blame_build(struct blame *blame, const struct recording *recording);
void blame_free(struct blame *blame);

#endif
