/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers that a program makes of conditions, futexes or semaphores: whoever comes last lets all
 * others go.
 *
 * Each time that threads come together is a meeting of its own, with a number. Built once from a
 * recording and its monitors, read-only afterwards.
 */
#ifndef WCPROF_MEETINGS_H
#define WCPROF_MEETINGS_H

#include "monitors.h"

struct meetings {
	uint32_t *of_wait; /* by wait index: the meeting that it waits in, NO_INDEX = none */
	/* by link index: the meeting that its thread came to as the last one. It is the last link
	 * that let the others go. NO_INDEX = none, or the thread waits there as well. */
	uint32_t *of_link;
	bool *is_post;       /* by link index: it lets a thread of a meeting go, and is no permit */
	uint32_t *sizes;     /* by meeting: how many threads come */
	uint64_t *opened_ns; /* by meeting: when the last one let the others go */
	size_t count;
};

void meetings_build(struct meetings *, const struct recording *, const struct timeline *,
		    const struct monitors *);
void meetings_free(struct meetings *);

/* Conditions of barriers have no tokens. */
void meetings_explain(const struct meetings *, const struct recording *, struct monitors *);

#endif
