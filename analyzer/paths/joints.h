/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joints: the waits and calls of threads that an event of another thread ended. Paths change
 * threads there.
 *
 * A thread's joints are in order of their ends. Built once, read-only afterwards.
 */
#ifndef WCPROF_JOINTS_H
#define WCPROF_JOINTS_H

#include "script/wakers.h"

struct joint {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t at_ns;  /* of the event: after start_ns, at most end_ns */
	uint32_t thread; /* whose event it was */
	uint32_t index;  /* of the op or wait that it ended */
	bool is_wait;
	bool is_begin; /* the event is the begin of something, as of a write */
};

struct joints {
	struct joint *joints; /* thread by thread */
	size_t *first;        /* thread t has joints [first[t], first[t + 1]) */
	size_t thread_count;
};

/* `wakers` may be empty: there are no joints. */
void joints_build(struct joints *joints, const struct recording *recording,
		  const struct timeline *timeline, const struct wakers *wakers);
void joints_free(struct joints *joints);

/* The last one of a thread that ended by then; NULL = none. */
const struct joint *joints_before(const struct joints *joints, uint32_t thread, uint64_t at_ns);

#endif
