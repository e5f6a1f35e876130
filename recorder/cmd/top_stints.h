/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When threads worked for a request. A wait of one of them for another counts only outside of that:
 * the analyzer's path goes through the other thread there.
 *
 * A thread's stint is from the begin of its first call for the request to the end of the last.
 * Between them it ran, or did something else. One thread.
 */
#ifndef WCPROF_TOP_STINTS_H
#define WCPROF_TOP_STINTS_H

#include <stdint.h>

enum { TOP_STINTS_MAX = 8 }; /* threads: those beyond are one */

struct top_stint {
	uint64_t begin_ns, end_ns;
	uint32_t thread;
};

struct top_stints {
	struct top_stint stints[TOP_STINTS_MAX];
	uint32_t count;
};

void top_stints_add(struct top_stints *, struct top_stint);
void top_stints_join(struct top_stints *, const struct top_stints *from);
/* The part of that time that is in no stint of another thread. */
uint64_t top_stints_outside_ns(const struct top_stints *, struct top_stint wait);

#endif
